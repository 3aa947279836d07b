import { expect, it } from 'vitest'
import { searchLogs } from '../../../../engine/pipelines/search-log.ts'

/** A log whose line number n is written in second n of an hour. */
const logOf = (id: string, seconds: readonly number[], text = 'line', stream: 'engine' | 'stderr' = 'stderr') => ({
  id,
  lines: seconds.map((second) => ({ at: new Date(second * 1000).toISOString(), run: 1, stream, line: `${text} ${second}` })),
})
const found = async (...given: Parameters<typeof searchLogs>) =>
  (await searchLogs(...given)).map(({ pipeline_id, line }) => `${pipeline_id} ${line}`)

it('merges the logs of all pipelines by time, the newest lines of all', async () => {
  const logs = [logOf('a', [1, 4, 5]), logOf('b', [2, 3, 6])]
  expect(await found(logs, { search: '', limit: 4 })).toEqual(['b line 3', 'a line 4', 'a line 5', 'b line 6'])
})

it('finds a part of a line or of an id in upper or lower case, and lines of one stream', async () => {
  const logs = [logOf('Gate', [1], 'phase: playing', 'engine'), logOf('yard', [2], 'Not Found'), logOf('roof', [3], 'gates')]
  expect(await found(logs, { search: 'GATE', limit: 9 })).toEqual(['Gate phase: playing 1', 'roof gates 3'])
  expect(await found(logs, { search: 'not found', limit: 9 })).toEqual(['yard Not Found 2'])
  expect(await found(logs, { search: '', stream: 'engine', limit: 9 })).toEqual(['Gate phase: playing 1'])
})

it('keeps the newest lines of more logs than it holds at once, whatever their order', async () => {
  const logs = Array.from({ length: 60 }, (_, pipeline) =>
    logOf(
      `p${pipeline}`,
      Array.from({ length: 500 }, (_, at) => at * 60 + ((pipeline * 37) % 60)),
    ),
  )
  const seconds = (await searchLogs(logs, { search: '', limit: 100 })).map(({ line }) => Number(line.slice(5)))
  expect(seconds).toEqual(Array.from({ length: 100 }, (_, at) => 29_900 + at))
})
