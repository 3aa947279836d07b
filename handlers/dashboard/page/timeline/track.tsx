import { useRef } from 'preact/hooks'
import { clockText, timeText } from '../words/format.ts'
import { DAY, percentOf, type Span, spanAt, ticksOf, visible } from './view.ts'

interface TrackProps {
  readonly view: Span
  readonly spans: readonly Span[]
  /** When a place was in the picture that was asked for. */
  readonly seen: readonly Span[]
  readonly at: number
  /** The marked range. */
  readonly mark: Span | undefined
  readonly onMove: (at: number) => void
  readonly onZoom: (factor: number) => void
}

const SMALL_STEP = 0.01
const LARGE_STEP = 0.1
const ZOOM = 2

/** The ranges of a view, with the moment as a slider: by pointer, finger and keyboard. */
export const Track = ({ view, spans, seen, at, mark, onMove, onZoom }: TrackProps) => {
  const place = useRef<HTMLDivElement>(null)
  const length = view.to - view.from
  const moveTo = (event: PointerEvent): void => {
    const box = place.current?.getBoundingClientRect()
    if (box !== undefined) onMove(view.from + length * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)))
  }
  const press = (event: KeyboardEvent): void => {
    const step = event.shiftKey ? LARGE_STEP : SMALL_STEP
    const keys: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => onMove(at - length * step),
      ArrowRight: () => onMove(at + length * step),
      PageDown: () => onMove(at - length * LARGE_STEP),
      PageUp: () => onMove(at + length * LARGE_STEP),
      Home: () => onMove(view.from),
      End: () => onMove(view.to),
      '+': () => onZoom(1 / ZOOM),
      '-': () => onZoom(ZOOM),
    }
    const act = keys[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  const text = `${timeText(new Date(at).toISOString())}, ${spanAt(spans, at) === undefined ? 'nothing recorded' : 'recorded'}`
  return (
    <div
      ref={place}
      class="timeline-track"
      role="slider"
      tabIndex={0}
      aria-label="Moment"
      aria-valuemin={Math.round(view.from / 1000)}
      aria-valuemax={Math.round(view.to / 1000)}
      aria-valuenow={Math.round(at / 1000)}
      aria-valuetext={text}
      onKeyDown={press}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        moveTo(event)
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) moveTo(event)
      }}
    >
      <svg aria-hidden="true" width="100%" height="100%">
        <title>Recorded ranges</title>
        <Ticks view={view} />
        {visible(spans, view).map((span) => (
          <Bar key={span.from} name="timeline-span" view={view} span={span} />
        ))}
        {visible(seen, view).map((span) => (
          <Bar key={span.from} name="timeline-seen" view={view} span={span} />
        ))}
        {mark !== undefined && <Bar name="timeline-mark" view={view} span={mark} />}
        <line class="timeline-moment" x1={percent(view, at)} x2={percent(view, at)} y1="0" y2="100%" />
      </svg>
    </div>
  )
}

const percent = (view: Span, at: number): string => `${Math.min(100, Math.max(0, percentOf(view, at))).toFixed(3)}%`

/** Pixels. */
const BARS = {
  'timeline-span': { y: 24, height: 28 },
  'timeline-seen': { y: 46, height: 10 },
  'timeline-mark': { y: 20, height: 36 },
} as const

const Bar = ({ name, view, span }: { readonly name: keyof typeof BARS; readonly view: Span; readonly span: Span }) => {
  const [begin, end] = [Math.max(0, percentOf(view, span.from)), Math.min(100, percentOf(view, span.to))]
  return end <= 0 || begin >= 100 ? null : (
    <rect class={name} x={`${begin.toFixed(3)}%`} {...BARS[name]} width={`${Math.max(0.15, end - begin).toFixed(3)}%`} />
  )
}

const Ticks = ({ view }: { readonly view: Span }) => {
  const offsetMs = -new Date(view.from).getTimezoneOffset() * 60_000
  const length = view.to - view.from
  const label = (at: number): string => {
    if (length > 3 * DAY) return new Date(at).toLocaleDateString([], { day: 'numeric', month: 'short' })
    return length > 10 * 60_000 ? clockText(at / 1000) : new Date(at).toLocaleTimeString()
  }
  return (
    <>
      {ticksOf(view, offsetMs).map((at) => (
        <g key={at}>
          <line class="timeline-tick" x1={percent(view, at)} x2={percent(view, at)} y1="18" y2="100%" />
          <text class="timeline-label" x={percent(view, at)} y="13">
            {label(at)}
          </text>
        </g>
      ))}
    </>
  )
}
