import { useSignal } from '@preact/signals'
import { type Place, placeText } from '../../../../lib/segments/place.ts'
import { api } from '../api/api.ts'
import { whileVisible } from '../api/follow.ts'
import { useAbortable } from '../ui/use-abortable.ts'
import type { Span } from './view.ts'

export interface RecordedSpan extends Span {
  readonly hasKlv: boolean
}

const REFRESH_MS = 5000
const PAGE = 1000
/** More ranges cannot be distinguished on a screen. */
const MAX_PAGES = 5

/** The ranges of a pipeline in a view and beside it, as they come; `covers`: only those that show a place. None without a filter. */
export const useSpans = (id: string, view: Span, filter: { readonly covers?: Place } | undefined): readonly RecordedSpan[] => {
  const spans = useSignal<readonly RecordedSpan[]>([])
  const length = view.to - view.from
  // Half a view more on both sides, loaded again when it is left.
  const [begin, end] = [Math.floor(view.from / length) * length - length / 2, Math.ceil(view.to / length) * length + length / 2]
  const covers = filter?.covers && placeText(filter.covers)
  const isOn = filter !== undefined
  useAbortable(
    (signal) => {
      if (!isOn) spans.value = []
      if (!isOn) return
      const range = { pipeline_id: id, from: new Date(begin).toISOString(), to: new Date(end).toISOString() }
      void whileVisible(signal, async () => {
        // Without an answer the ranges stay.
        const listed = await pages({ ...range, ...(covers !== undefined && { covers }) }, signal).catch(() => undefined)
        if (listed !== undefined && !signal.aborted) spans.value = listed
        return REFRESH_MS
      })
    },
    [id, begin, end, covers, isOn],
  )
  return spans.value
}

type Query = Parameters<typeof api.listRecordings>[0]

const pages = async (query: Query, signal: AbortSignal): Promise<readonly RecordedSpan[]> => {
  const found: RecordedSpan[] = []
  let before: string | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const listed = await api.listRecordings({ ...query, ...(before !== undefined && { before }), limit: PAGE, signal })
    found.push(...listed.map(({ from, to, tracks }) => ({ from: Date.parse(from), to: Date.parse(to), hasKlv: tracks.includes('klv') })))
    before = listed.at(-1)?.from
    if (listed.length < PAGE) break
  }
  return found
}
