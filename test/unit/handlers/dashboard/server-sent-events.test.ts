import { describe, expect, it } from 'vitest'
import { createEventParser, type ServerEvent } from '../../../../handlers/dashboard/page/api/server-sent-events.ts'

const parsed = (...pieces: readonly string[]): readonly ServerEvent[] => {
  const events: ServerEvent[] = []
  const parse = createEventParser((event) => events.push(event))
  for (const piece of pieces) parse(piece)
  return events
}

const STREAM = 'retry: 2000\n\n: keepalive\n\nid: a-1\nevent: pipeline_status\ndata: {"id":"x"}\n\ndata: one\ndata: two\n\n'
const EVENTS = [
  { id: 'a-1', event: 'pipeline_status', data: '{"id":"x"}' },
  // An id holds until the next one.
  { id: 'a-1', event: 'message', data: 'one\ntwo' },
]

describe('the parser of Server-Sent Events', () => {
  it('reads events, and skips comments and retry times', () => {
    expect(parsed(STREAM)).toEqual(EVENTS)
  })

  it('reads them in pieces of every length, with each kind of line end', () => {
    for (const text of [STREAM, STREAM.replaceAll('\n', '\r\n')])
      for (let length = 1; length < 20; length++) expect(parsed(...(text.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? []))).toEqual(EVENTS)
  })

  it('keeps an event that has not ended', () => {
    expect(parsed('data: cut')).toEqual([])
    expect(parsed('data: cut\n')).toEqual([])
  })

  it('refuses an event without an end', () => {
    const endless = 'x'.repeat(1024 * 1024)
    expect(() => parsed(...Array<string>(5).fill(endless))).toThrow('too long')
  })
})
