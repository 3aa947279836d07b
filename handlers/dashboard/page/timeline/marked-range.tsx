import type { Signal } from '@preact/signals'
import { api } from '../api/api.ts'
import { saveAs } from '../api/commands.ts'
import { Action } from '../ui/action.tsx'
import { durationText } from '../words/format.ts'
import type { Span } from './view.ts'

interface MarkedRangeProps {
  readonly id: string
  readonly at: number
  readonly mark: Signal<Span | undefined>
}

/** A browser may read the file a while later. */
const SAVE_MS = 60_000

/** Marks a range from its beginning to its end, and saves it as a file. */
export const MarkedRange = ({ id, at, mark }: MarkedRangeProps) => {
  const range = mark.value
  const save = async (type: 'ts' | 'mp4'): Promise<void> => {
    if (range === undefined) return
    const query = { id, from: new Date(range.from).toISOString(), to: new Date(range.to).toISOString() }
    const answer = await (type === 'ts' ? api.getRecording(query) : api.getRecordingAsMp4(query))
    const url = URL.createObjectURL(await answer.blob())
    saveAs(`${id}_${query.from.replaceAll(':', '-')}.${type}`, url)
    setTimeout(() => URL.revokeObjectURL(url), SAVE_MS)
  }
  const isSaveable = range !== undefined && range.to > range.from
  return (
    <>
      <Action
        run={() => {
          mark.value = { from: at, to: Math.max(at, range?.to ?? at) }
        }}
      >
        Mark begin
      </Action>
      <Action
        run={() => {
          mark.value = { from: Math.min(at, range?.from ?? at), to: at }
        }}
      >
        Mark end
      </Action>
      {isSaveable && (
        <>
          <span class="muted">{durationText(range.to - range.from)} marked</span>
          <Action icon="down" busyText="Loading" label="Download the marked range as MP4" run={() => save('mp4')}>
            MP4
          </Action>
          <Action icon="down" busyText="Loading" label="Download the marked range as MPEG-TS, with KLV" run={() => save('ts')}>
            MPEG-TS
          </Action>
        </>
      )}
    </>
  )
}
