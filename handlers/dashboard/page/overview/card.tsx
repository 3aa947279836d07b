import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { historyOf, round } from '../api/history.ts'
import { now } from '../api/now.ts'
import { faults } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { CardFact } from '../cards/card-fact.tsx'
import { useVisible } from '../cards/use-visible.ts'
import { pipelineHref } from '../ui/route.ts'
import { StateLabel } from '../ui/state-label.tsx'
import { bitrateText, countText, durationText, encodingText, fpsText, sourceText } from '../words/format.ts'
import { faultText, nextTryText } from '../words/phases.ts'
import { CardActions } from './card-actions.tsx'
import { LENGTH, Sparkline } from './sparkline.tsx'
import { Thumbnail } from './thumbnail.tsx'

/** One pipeline: picture, state, and numbers while the card is visible. */
export const Card = ({ pipeline }: { readonly pipeline: ReadonlySignal<Pipeline> }) => {
  const { element, isVisible } = useVisible<HTMLLIElement>()
  const isLive = useSignal(false)
  const hover = useHover(isLive)
  const { value } = pipeline
  const { id, runtime } = value
  const fault = faultText(value, faults.value.get(id)?.message)
  return (
    <li ref={element} class="card" {...hover}>
      <div class="card-picture">
        <Thumbnail id={id} phase={runtime.phase} isVisible={isVisible.value} isLive={isLive.value} />
        <StateLabel pipeline={value} />
        {isVisible.value && runtime.phase === 'reconnecting' && <p class="card-next">{nextTryText(value, now.value)}</p>}
      </div>
      <div class="card-body">
        <h2>
          <a class="card-link" href={pipelineHref(id)}>
            {id}
          </a>
        </h2>
        <p class="card-source" title={sourceText(value)}>
          {sourceText(value)}
        </p>
        {fault === undefined ? isVisible.value && <Numbers pipeline={value} /> : <p class="card-fault">{fault}</p>}
      </div>
      <div class="card-foot">
        <dl class="card-facts">
          <CardFact icon="camera" name="Video">
            {encodingText(value)}
          </CardFact>
          <CardFact icon="people" name="Readers">
            {countText(runtime.readers, 'reader')}
          </CardFact>
          {runtime.audio?.carried === true && (
            <CardFact icon="sound" name="Sound">
              Sound
            </CardFact>
          )}
          {isVisible.value && runtime.phase === 'playing' && (
            <CardFact icon="clock" name="Live for">
              {durationText(now.value - Date.parse(runtime.since))}
            </CardFact>
          )}
          {runtime.restarts > 0 && (
            <CardFact icon="again" name="Restarts">
              {countText(runtime.restarts, 'restart')}
            </CardFact>
          )}
        </dl>
        <CardActions pipeline={value} />
      </div>
    </li>
  )
}

const Numbers = ({ pipeline: { id, runtime } }: { readonly pipeline: Pipeline }) => {
  round.value
  if (runtime.phase !== 'playing' && runtime.phase !== 'reconnecting') return <div class="numbers" />
  const recent = historyOf(id).slice(-LENGTH)
  return (
    <div class="numbers">
      <div>
        <span class="number">{fpsText(runtime.fps)}</span>
        <Sparkline values={recent.map(({ fps }) => fps)} label="Frame rate of the last two minutes" />
      </div>
      <div>
        <span class="number">{bitrateText(runtime.bitrate_kbps)}</span>
        <Sparkline values={recent.map(({ bitrate }) => bitrate)} label="Bitrate of the last two minutes" />
      </div>
    </div>
  )
}

/** A pointer that only passes over a card starts no video. */
const HOVER_MS = 250

/** Handlers that make a card live while the pointer rests on it or it has the focus. */
const useHover = (isLive: { value: boolean }) => {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const begin = (): void => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      isLive.value = true
    }, HOVER_MS)
  }
  const end = (): void => {
    clearTimeout(timer.current)
    isLive.value = false
  }
  /** The page also focuses a card after a navigation by mouse. */
  const beginByKeyboard = ({ target }: FocusEvent): void => {
    if ((target as Element).matches(':focus-visible')) begin()
  }
  useEffect(() => end, [])
  return { onPointerEnter: begin, onPointerLeave: end, onFocusIn: beginByKeyboard, onFocusOut: end }
}
