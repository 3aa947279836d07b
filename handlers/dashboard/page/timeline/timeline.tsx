import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Place } from '../../../../lib/segments/place.ts'
import { api } from '../api/api.ts'
import { serviceClock } from '../api/now.ts'
import { take } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import type { Moment } from '../ui/route.ts'
import { timeText } from '../words/format.ts'
import { MarkedRange } from './marked-range.tsx'
import { MomentKlv } from './moment-klv.tsx'
import { createMomentPictures } from './moment-picture.ts'
import { RecordedVideo } from './recorded-video.tsx'
import { SeenRanges } from './seen-ranges.tsx'
import { Track } from './track.tsx'
import { useSpans } from './use-spans.ts'
import { around, follow, LENGTHS, type Span, spanAt } from './view.ts'

/** Pictures of one view: closer moments share one, so that scrubbing back finds it. */
const PICTURES = 200

const STATES = { recording: 'Recording', waiting: 'Waiting for video', stopped: 'Not recorded', failed: 'Recording fails' } as const

interface TimelineProps {
  readonly pipeline: Pipeline
  /** Where it begins; now by default. */
  readonly moment?: Moment | undefined
  /** Shows the live picture. */
  readonly onLive: () => void
}

/** What was recorded of a pipeline: ranges, pictures, playback, download, and the KLV of each moment. */
export const Timeline = ({ pipeline, moment: asked, onLive }: TimelineProps) => {
  const { id, recording } = pipeline
  const section = useRef<HTMLElement>(null)
  const at = useSignal(asked?.at ?? serviceClock.now())
  const view = useSignal<Span>(around(at.value, LENGTHS[2].ms))
  const spans = useSpans(id, view.value, {})
  const place = useSignal<Place | undefined>(asked?.place)
  const seen = useSpans(id, view.value, place.value && { covers: place.value })
  const picture = useSignal<{ readonly url: string | undefined } | undefined>(undefined)
  const playing = useSignal<{ readonly from: number; readonly span: Span } | undefined>(undefined)
  const mark = useSignal<Span | undefined>(undefined)
  const pictures = usePictures(id, (url) => {
    picture.value = { url }
  })
  const moveTo = (moment: number): void => {
    playing.value = undefined
    at.value = Math.min(moment, serviceClock.now())
    view.value = follow(view.value, at.value)
    showPicture()
  }
  const showPicture = (): void => {
    const step = Math.max(1000, (view.value.to - view.value.from) / PICTURES)
    const near = spanAt(spans, at.value)
    if (near === undefined) picture.value = { url: undefined }
    else pictures.current?.want(Math.min(near.to - 1, Math.max(near.from, Math.round(Math.round(at.value / step) * step))))
  }
  // As soon as the ranges are known: a moment that was asked for is shown, else the newest one chosen, for nothing is recorded now.
  useEffect(() => {
    if (picture.peek() !== undefined || spans.length === 0) return
    if (asked !== undefined) showPicture()
    else if (spanAt(spans, at.peek()) === undefined) at.value = Math.min(at.peek(), newestOf(spans) - 1)
  }, [spans])
  useEffect(() => {
    if (asked !== undefined) section.current?.scrollIntoView()
  }, [])
  const zoom = (ms: number): void => {
    view.value = around(at.value, ms)
  }
  const length = view.value.to - view.value.from
  const here = spanAt(spans, at.value)
  return (
    <section ref={section} class="panel timeline" aria-labelledby="recording-title">
      <div class="panel-head">
        <h2 id="recording-title">Recording</h2>
        <div class="actions">
          <span class="muted" role="status">
            {STATES[recording.state]}
          </span>
          <RecordAction pipeline={pipeline} />
        </div>
      </div>
      {recording.last_error !== null && recording.state === 'failed' && <p class="field-error">{recording.last_error.message}</p>}
      <div class={spans.length === 0 && playing.value === undefined ? 'timeline-picture timeline-picture-empty' : 'timeline-picture'}>
        {playing.value !== undefined ? (
          <RecordedVideo
            id={id}
            {...playing.value}
            onMoment={(moment) => {
              at.value = moment
              view.value = follow(view.value, moment)
            }}
            onEnd={() => {
              playing.value = undefined
            }}
          />
        ) : picture.value?.url !== undefined ? (
          <img src={picture.value.url} alt={`Recorded at ${timeText(new Date(at.value).toISOString())}`} />
        ) : (
          <p class="muted">{hintOf(spans, here)}</p>
        )}
      </div>
      <div class="timeline-bar">
        <p class="timeline-time">{timeText(new Date(at.value).toISOString())}</p>
        <fieldset class="timeline-lengths" aria-label="Time that is shown">
          {LENGTHS.map(({ name, ms }) => (
            <button key={name} type="button" class="button button-quiet" aria-pressed={length === ms} onClick={() => zoom(ms)}>
              {name}
            </button>
          ))}
        </fieldset>
      </div>
      <Track
        view={view.value}
        spans={spans}
        seen={seen}
        at={at.value}
        mark={mark.value}
        onMove={moveTo}
        onZoom={(factor) => zoom((view.value.to - view.value.from) * factor)}
      />
      <div class="actions">
        {playing.value === undefined ? (
          <Action
            icon="play"
            kind="primary"
            disabled={here === undefined}
            run={() => {
              playing.value = here === undefined ? undefined : { from: at.value, span: here }
            }}
          >
            Play from here
          </Action>
        ) : (
          <Action icon="stop" run={() => moveTo(at.value)}>
            Stop playback
          </Action>
        )}
        <Action
          icon="clock"
          run={() => {
            view.value = around(serviceClock.now(), length)
            moveTo(newestOf(spans) || serviceClock.now())
          }}
        >
          Newest
        </Action>
        <Action
          icon="camera"
          run={() => {
            moveTo(serviceClock.now())
            onLive()
          }}
        >
          Live
        </Action>
        <MarkedRange id={id} at={at.value} mark={mark} />
      </div>
      {place.value !== undefined && (
        <SeenRanges
          place={place.value}
          seen={seen}
          at={at.value}
          onMove={moveTo}
          onEnd={() => {
            place.value = undefined
          }}
        />
      )}
      {here?.hasKlv === true && (
        <MomentKlv
          pipeline={pipeline}
          at={at.value}
          place={place.value}
          onPlace={(clicked) => {
            place.value = clicked
          }}
        />
      )}
    </section>
  )
}

/** When the newest span ends; 0 without one. */
const newestOf = (spans: readonly Span[]): number => spans.reduce((latest, { to }) => Math.max(latest, to), 0)

const hintOf = (spans: readonly Span[], here: Span | undefined): string => {
  if (spans.length === 0) return 'Nothing is recorded in the time that is shown.'
  return here === undefined ? 'Nothing is recorded at this moment.' : 'Move along the timeline to see its pictures.'
}

const RecordAction = ({ pipeline: { id, recording } }: { readonly pipeline: Pipeline }) =>
  recording.state === 'stopped' ? (
    <Action icon="dot" run={async () => take(await api.startRecording({ id }))}>
      Record
    </Action>
  ) : (
    <Action icon="stop" run={async () => take(await api.stopRecording({ id }))}>
      Stop recording
    </Action>
  )

const usePictures = (id: string, show: (url: string | undefined) => void) => {
  const pictures = useRef<ReturnType<typeof createMomentPictures> | undefined>(undefined)
  useEffect(() => {
    pictures.current = createMomentPictures(id, show)
    return () => pictures.current?.close()
  }, [id])
  return pictures
}
