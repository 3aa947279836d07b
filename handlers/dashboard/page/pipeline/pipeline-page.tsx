import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { now } from '../api/now.ts'
import { hasKlv, hasSound, hasVideo } from '../api/phase.ts'
import { faults, loaded, pipelines } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { KlvPanel } from '../klv/klv-panel.tsx'
import { MapView } from '../map/map-view.tsx'
import { Controls } from '../player/controls.tsx'
import { LivePicture } from '../player/live-picture.tsx'
import type { PictureFacts } from '../player/playback.ts'
import { WAY_WORDS } from '../screens/ways.ts'
import type { Sound } from '../sound/sound.ts'
import { Timeline } from '../timeline/timeline.tsx'
import { Banner } from '../ui/banner.tsx'
import { Fact } from '../ui/fact.tsx'
import { Icon } from '../ui/icon.tsx'
import { Page } from '../ui/page.tsx'
import type { Moment } from '../ui/route.ts'
import { StateLabel } from '../ui/state-label.tsx'
import { Waiting } from '../ui/waiting.tsx'
import { adviceOn } from '../words/advice.ts'
import { bitrateText, CODEC_NAMES, countText, durationText, encodingText, fpsText, sourceText, timeText } from '../words/format.ts'
import { faultText, nextTryText, phaseSentence } from '../words/phases.ts'
import { soundText } from '../words/report.ts'
import { Actions } from './actions.tsx'
import { Addresses, Share } from './addresses.tsx'
import { Charts } from './charts.tsx'
import { LaunchLine } from './launch-line.tsx'
import { Log } from './log.tsx'
import { Pushes } from './pushes.tsx'
import { Screenshots } from './screenshots.tsx'

/** The rest of the page waits this long for the first picture, milliseconds. */
const PICTURE_MS = 300

interface PipelinePageProps {
  readonly id: string
  /** Of its recording, to begin with. */
  readonly moment: Moment | undefined
}

/** Everything about one pipeline. */
export const PipelinePage = ({ id, moment }: PipelinePageProps) => {
  const pipeline = pipelines.value.get(id)
  if (pipeline === undefined) return <Missing id={id} />
  return <Known pipeline={pipeline.value} moment={moment} />
}

const Missing = ({ id }: { readonly id: string }) => (
  <Page title={id}>
    <div class="empty">
      {loaded.value ? (
        <>
          <p role="status">No pipeline has this name. It may have been deleted.</p>
          <a class="button button-plain" href="#/">
            All pipelines
          </a>
        </>
      ) : (
        <Waiting />
      )}
    </div>
  </Page>
)

const Known = ({ pipeline, moment }: { readonly pipeline: Pipeline; readonly moment: Moment | undefined }) => {
  const { id } = pipeline
  const facts = useSignal<PictureFacts>({})
  const { isWhole, afterPicture } = useWholePage(hasVideo(pipeline))
  const player = useRef<HTMLElement>(null)
  const sound = useSignal<Sound | undefined>(undefined)
  const klv = useSignal<Uint8Array | undefined>(undefined)
  const isAway = pipeline.runtime.phase === 'reconnecting'
  return (
    <div class="page">
      <div class="head">
        <div class="head-title">
          <a class="button button-quiet back" href="#/" aria-label="All pipelines">
            <Icon name="back" />
          </a>
          <h1>{id}</h1>
          <StateLabel pipeline={pipeline} />
        </div>
        <Actions pipeline={pipeline} />
      </div>
      <Fault pipeline={pipeline} />
      <div class="split">
        <div class="split-top">
          <figure class="player" ref={player}>
            {hasVideo(pipeline) ? (
              <>
                <LivePicture
                  key={id}
                  id={id}
                  facts={facts}
                  hasSound={hasSound(pipeline)}
                  sound={sound}
                  hasKlv={hasKlv(pipeline)}
                  klv={klv}
                  onPicture={afterPicture}
                  message={isAway ? `The source is away. ${nextTryText(pipeline, now.value)}` : undefined}
                />
                <Controls id={id} player={player} sound={sound.value} />
              </>
            ) : (
              <NoVideo pipeline={pipeline} />
            )}
          </figure>
          {hasVideo(pipeline) && <PictureLine facts={facts.value} />}
        </div>
        <div class="split-side">
          <Facts pipeline={pipeline} facts={facts.value} />
          {isWhole && <SidePanels pipeline={pipeline} klv={klv} />}
        </div>
        {isWhole && (
          <div class="split-rest">
            {pipeline.output !== undefined && (
              <Timeline key={moment?.at} pipeline={pipeline} moment={moment} onLive={() => player.current?.scrollIntoView()} />
            )}
            <Charts id={id} />
            <Screenshots pipeline={pipeline} />
            <Log id={id} />
          </div>
        )}
      </div>
    </div>
  )
}

/** Whether the whole page is drawn: after the first picture, which it would delay. */
const useWholePage = (hasPicture: boolean) => {
  const isWhole = useSignal(!hasPicture)
  const drawRest = (): void => {
    isWhole.value = true
  }
  useEffect(() => {
    const timer = setTimeout(drawRest, PICTURE_MS)
    return () => clearTimeout(timer)
  }, [])
  // Once the browser has shown the picture.
  return { isWhole: isWhole.value, afterPicture: () => void requestAnimationFrame(() => setTimeout(drawRest)) }
}

const Fault = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const reported = faults.value.get(pipeline.id)
  const fault = faultText(pipeline, reported?.message)
  return fault === undefined ? null : (
    <Banner>
      <div>
        <p>{fault}</p>
        <p class="small">{[adviceOn(reported?.reason), phaseSentence(pipeline)].filter(Boolean).join(' ')}</p>
      </div>
    </Banner>
  )
}

const SidePanels = ({ pipeline, klv }: { readonly pipeline: Pipeline; readonly klv: ReadonlySignal<Uint8Array | undefined> }) => (
  <>
    {pipeline.klv.available && <KlvPanel pipeline={pipeline} shown={klv} />}
    {pipeline.geolocation !== null && (
      <section class="panel" aria-labelledby="position-title">
        <h2 id="position-title">Position</h2>
        <MapView key={pipeline.id} id={pipeline.id} />
      </section>
    )}
    <Pushes pipeline={pipeline} />
    <Addresses pipeline={pipeline} />
    {pipeline.output !== undefined && <Share id={pipeline.id} />}
    <LaunchLine pipeline={pipeline} />
  </>
)

const NoVideo = ({ pipeline }: { readonly pipeline: Pipeline }) => (
  <div class="player-empty">
    <Icon name={pipeline.runtime.phase === 'starting' ? 'wait' : 'camera'} />
    <p>{pipeline.runtime.phase === 'failed' ? 'No video.' : phaseSentence(pipeline)}</p>
  </div>
)

/** How the picture is decoded, why not in a better way, and its latency. */
const PictureLine = ({ facts: { choice, delayMs } }: { readonly facts: PictureFacts }) => (
  <p class="picture-line">
    {choice !== undefined && (
      <>
        <span>
          {WAY_WORDS[choice.way]}
          {choice.why !== '' && <>, because {choice.why}</>}
        </span>
        {delayMs !== undefined && <span class="delay">{Math.round(delayMs)} ms from data to picture</span>}
      </>
    )}
  </p>
)

/** By the codec string of WebCodecs. */
const CODECS: readonly (readonly [RegExp, string])[] = [
  [/^avc/, CODEC_NAMES.h264],
  [/^h(ev|vc)1/, CODEC_NAMES.h265],
]

const videoText = (pipeline: Pipeline, { config }: PictureFacts): string => {
  if (config === undefined) return encodingText(pipeline)
  const codec = CODECS.find(([pattern]) => pattern.test(config.codec))?.[1] ?? config.codec
  return `${codec} ${config.codedWidth}×${config.codedHeight}`
}

const Facts = ({ pipeline, facts }: { readonly pipeline: Pipeline; readonly facts: PictureFacts }) => {
  const { runtime } = pipeline
  const isPlaying = runtime.phase === 'playing'
  return (
    <section class="panel" aria-labelledby="facts-title">
      <h2 id="facts-title">Status</h2>
      <dl class="facts">
        <Fact name="Source" isCode>
          {sourceText(pipeline)}
        </Fact>
        <Fact name="Video">{videoText(pipeline, facts)}</Fact>
        {runtime.audio !== null && <Fact name="Sound">{soundText(runtime.audio)}</Fact>}
        <Fact name="Frame rate">{isPlaying ? fpsText(runtime.fps) : '–'}</Fact>
        <Fact name="Bitrate">{isPlaying ? bitrateText(runtime.bitrate_kbps) : '–'}</Fact>
        <Fact name="Readers">{countText(runtime.readers, 'reader')}</Fact>
        <Fact name={isPlaying ? 'Live for' : 'In this state'}>{durationText(now.value - Date.parse(runtime.since))}</Fact>
        <Fact name="Restarts">{String(runtime.restarts)}</Fact>
        {runtime.next_retry_at !== null && (
          <Fact name="Next attempt">{`in ${durationText(Math.max(0, Date.parse(runtime.next_retry_at) - now.value))}`}</Fact>
        )}
        {runtime.last_error !== null && isPlaying && (
          <Fact name="Last error">{`${timeText(runtime.last_error.at)}: ${runtime.last_error.message}`}</Fact>
        )}
        {pipeline.geolocation !== null && (
          <Fact name="Position">{`${pipeline.geolocation.latitude.toFixed(5)}, ${pipeline.geolocation.longitude.toFixed(5)}`}</Fact>
        )}
      </dl>
    </section>
  )
}
