import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createClient, type Reconnect } from '../../../../handlers/client/client.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Opened {
  readonly at: number
  readonly lastEventId: string | null
  readonly signal: AbortSignal
}

type Script = (stream: ReadableStreamDefaultController<Uint8Array>) => void

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const sending =
  (...texts: readonly string[]): Script =>
  (stream) => {
    for (const text of texts) stream.enqueue(encode(text))
  }

const thenEnd =
  (script: Script): Script =>
  (stream) => {
    script(stream)
    stream.close()
  }

const event = (id: string, name: string, data: unknown = {}): string => `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** A service that answers its streams with one script after the other, and repeats the last one. */
const serving = (...answers: readonly (Script | Response | Error)[]) => {
  const opened: Opened[] = []
  let cancelled = 0
  const began = Date.now()
  const fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    const answer = answers[Math.min(opened.length, answers.length - 1)]
    const headers = init.headers as Headers
    opened.push({ at: Date.now() - began, lastEventId: headers.get('last-event-id'), signal: init.signal as AbortSignal })
    if (answer instanceof Error) throw answer
    if (answer instanceof Response) return answer.clone()
    const body = new ReadableStream<Uint8Array>({ start: (stream) => answer?.(stream), cancel: () => void cancelled++ })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  return { client: createClient({ url: 'http://api.test', fetch }), opened, cancelled: () => cancelled }
}

const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  Response.json({ message: 'No.', code, details: {} }, { status, headers })

/** Reads to the end while time passes; answers the ids of the events, then how it ended. */
const readAll = async (stream: AsyncIterable<{ readonly id: string }>): Promise<readonly string[]> => {
  const seen: string[] = []
  let end: string | undefined
  const read = async (): Promise<void> => {
    for await (const { id } of stream) seen.push(id)
    end = 'done'
  }
  read().catch((error: unknown) => {
    end = String((error as { code?: string }).code ?? error)
  })
  for (let step = 0; step < 2000 && end === undefined; step++) await vi.advanceTimersByTimeAsync(1000)
  return [...seen, end ?? 'never ends']
}

describe('a stream of events', () => {
  it('has the events with their data, however the bytes are cut', async () => {
    const text = `retry: 2000\n\n: keepalive\n\n${event('1', 'pipeline_status', { id: 'tür' })}${event('2', 'pipeline_not_found')}`
    const { client } = serving((stream) => encode(text).forEach((byte) => void stream.enqueue(Uint8Array.of(byte))))
    const events: unknown[] = []
    for await (const each of client.followPipeline({ id: 'gate' })) events.push(each)
    expect(events).toEqual([
      { id: '1', event: 'pipeline_status', data: { id: 'tür' } },
      { id: '2', event: 'pipeline_not_found', data: {} },
    ])
  })

  it('continues after a given event, and after the last one when the connection is lost', async () => {
    const { client, opened } = serving(
      thenEnd(sending('retry: 2000\n\n', event('7', 'pipeline_status'))),
      new TypeError('fetch failed'),
      sending(event('8', 'pipeline_not_found')),
    )
    const reconnects: Reconnect[] = []
    const following = client.followPipeline({ id: 'gate', lastEventId: '6', onReconnect: (lost) => void reconnects.push(lost) })
    expect(await readAll(following)).toEqual(['7', '8', 'done'])
    expect(opened.map(({ lastEventId }) => lastEventId)).toEqual(['6', '7', '7'])
    expect(reconnects.map(({ error }) => (error as Error | undefined)?.message)).toEqual([undefined, 'fetch failed'])
  })

  it('doubles its pauses up to 30 s, with randomness', async () => {
    const { client } = serving(thenEnd(sending('retry: 2000\n\n', event('1', 'klv'))), new TypeError('fetch failed'))
    const delays: number[] = []
    const stop = new AbortController()
    const onReconnect = ({ delay_ms }: Reconnect): void => {
      if (delays.push(delay_ms) === 8) stop.abort()
    }
    expect(await readAll(client.followEverything({ onReconnect, signal: stop.signal }))).toEqual(['1', expect.stringMatching(/20|Abort/)])
    const most = [2000, 4000, 8000, 16000, 30000, 30000, 30000, 30000]
    for (const [index, delay] of delays.entries()) {
      expect(delay).toBeLessThanOrEqual(most[index] ?? 0)
      expect(delay).toBeGreaterThanOrEqual((most[index] ?? 0) / 2)
    }
  })

  it.each([
    [503, 'SERVICE_UNAVAILABLE'],
    [429, 'RATE_LIMITED'],
  ])('respects Retry-After of %s, and ends when the service answers 401', async (status, code) => {
    const busy = refusal(status, code, { 'retry-after': '60' })
    const { client, opened } = serving(thenEnd(sending(event('1', 'camera_added'))), busy, refusal(401, 'UNAUTHORIZED'))
    expect(await readAll(client.followCameras())).toEqual(['1', 'UNAUTHORIZED'])
    expect(opened).toHaveLength(3)
    expect((opened[2]?.at ?? 0) - (opened[1]?.at ?? 0)).toBeGreaterThanOrEqual(60_000)
  })

  it.each([
    ['a network error', new TypeError('fetch failed'), 'TypeError: fetch failed'],
    ['an answer that is not a stream', Response.json({}), 'UNEXPECTED_ANSWER'],
  ])('throws %s of the first attempt', async (_, answer, thrown) => {
    const { client, opened } = serving(answer)
    expect(await readAll(client.followEverything())).toEqual([thrown])
    expect(opened).toHaveLength(1)
  })

  it('reconnects after a silence of 75 s', async () => {
    const { client, opened } = serving(sending(event('1', 'klv')), refusal(404, 'NOT_FOUND'))
    const lost: unknown[] = []
    const following = client.followKlv({ id: 'uav', onReconnect: ({ error }) => void lost.push(String(error)) })
    expect(await readAll(following)).toEqual(['1', 'NOT_FOUND'])
    expect(lost).toEqual(['Error: No data for 75 s'])
    expect(opened[0]?.signal.aborted).toBe(true)
  })

  it('closes its connection when the reader stops', async () => {
    const { client, opened, cancelled } = serving(sending(event('1', 'klv'), event('2', 'klv')))
    for await (const { id } of client.followKlv({ id: 'uav' })) {
      expect(id).toBe('1')
      break
    }
    expect([opened[0]?.signal.aborted, cancelled(), vi.getTimerCount()]).toEqual([true, 1, 0])
  })

  it('ends with its signal, also while it waits to reconnect', async () => {
    const { client } = serving(thenEnd(sending(event('1', 'klv'))), new TypeError('fetch failed'))
    const stop = new AbortController()
    const following = client.followKlv({ id: 'uav', signal: stop.signal, onReconnect: () => stop.abort(new Error('enough')) })
    expect(await readAll(following)).toEqual(['1', 'Error: enough'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('refuses an event without end', async () => {
    const endless = sending(...Array(80).fill(`data: ${'x'.repeat(65_536)}`))
    const { client } = serving(endless, refusal(404, 'NOT_FOUND'))
    const lost: string[] = []
    expect(await readAll(client.followEverything({ onReconnect: ({ error }) => void lost.push(String(error)) }))).toEqual(['NOT_FOUND'])
    expect(lost).toEqual([expect.stringMatching(/buffer/i)])
  })
})
