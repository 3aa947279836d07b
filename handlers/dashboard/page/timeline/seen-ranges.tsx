import { type Place, placeText } from '../../../../lib/segments/place.ts'
import { Action } from '../ui/action.tsx'
import { countText } from '../words/format.ts'
import type { Span } from './view.ts'

interface SeenRangesProps {
  readonly place: Place
  /** When it was in the picture, in any order. */
  readonly seen: readonly Span[]
  readonly at: number
  readonly onMove: (at: number) => void
  readonly onEnd: () => void
}

/** When a place was in the picture, of the time that is shown. */
export const SeenRanges = ({ place, seen, at, onMove, onEnd }: SeenRangesProps) => {
  const starts = seen.map(({ from }) => from).sort((one, other) => one - other)
  const [before, after] = [starts.findLast((from) => from < at), starts.find((from) => from > at)]
  const text =
    seen.length === 0 ? 'was not in the picture in the time that is shown' : `was in the picture in ${countText(seen.length, 'range')}`
  return (
    <div class="actions timeline-seen-ranges">
      <p role="status">
        {placeText(place)} {text}
      </p>
      <Action disabled={before === undefined} run={() => before !== undefined && onMove(before)}>
        Earlier
      </Action>
      <Action disabled={after === undefined} run={() => after !== undefined && onMove(after)}>
        Later
      </Action>
      <Action kind="quiet" run={onEnd}>
        Clear
      </Action>
    </div>
  )
}
