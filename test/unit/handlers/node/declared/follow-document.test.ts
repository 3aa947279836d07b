import { expect, it, vi } from 'vitest'
import type { Declaration } from '../../../../../handlers/declared/declaration.ts'
import { followDocument } from '../../../../../handlers/node/declared/follow-document.ts'
import type { Log } from '../../../../../lib/ports.ts'
import { fakeTimersInEachTest } from '../../../../helpers/fake-timers.ts'

fakeTimersInEachTest()

const MINUTE = 60_000

it('a document is applied at once and when it has changed, each minute, and what is wrong is said once', async () => {
  const answers: (string | undefined | Error)[] = []
  const lines: string[] = []
  const applied: [ids: readonly string[], superseded: AbortSignal][] = []
  const note = (event: string, fields?: object): void => void lines.push(`${event} ${JSON.stringify(fields ?? {})}`)
  const log: Log = { debug: note, info: note, warn: note, error: note }
  const stopping = new AbortController()
  const read = async (): Promise<string | undefined> => {
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return answer
  }
  const apply = async ({ pipelines }: Declaration, superseded: AbortSignal): Promise<void> =>
    void applied.push([pipelines.map(({ id }) => id), superseded])
  const gate = '[{ id: gate, source: { uri: "test://ball" } }]'
  const away = () => new Error('it answers 503')

  answers.push(away(), away(), gate, undefined, '[{ id: }]', gate.replace('gate', 'yard'))
  await followDocument({ name: 'https://***@h/x', read }, { apply, log, stopping: stopping.signal })
  expect([lines, applied]).toEqual([['declared_pipelines_unavailable {"address":"https://***@h/x","error":"it answers 503"}'], []])
  await vi.advanceTimersByTimeAsync(2 * MINUTE)
  expect([lines.slice(1), applied.map(([ids]) => ids)]).toEqual([
    ['declared_pipelines_available {"address":"https://***@h/x"}'],
    [['gate']],
  ])
  await vi.advanceTimersByTimeAsync(2 * MINUTE)
  // What is wrong leaves what was applied, and its further attempts.
  expect(lines.at(-1)).toMatch(/^declared_pipelines_failed .*https:\/\/\*\*\*@h\/x:1:/)
  expect(applied[0]?.[1].aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(MINUTE)
  expect([applied.map(([ids]) => ids), applied.map(([, { aborted }]) => aborted)]).toEqual([
    [['gate'], ['yard']],
    [true, false],
  ])
  stopping.abort()
  await vi.advanceTimersByTimeAsync(5 * MINUTE)
  expect([answers, vi.getTimerCount()]).toEqual([[], 0])
})
