import { describe, expect, it, vi } from 'vitest'
import { follow } from '../../../../lib/engine/follow.ts'
import { ApiError } from '../../../../lib/errors.ts'
import { fakeTimersInEachTest } from '../../../helpers/fake-timers.ts'

fakeTimersInEachTest()

interface Script {
  readonly events?: readonly string[]
  /** What the stream ends with; undefined: it stays open until the signal aborts. */
  readonly end?: Error | 'ended'
}

/** Follows streams that do what the scripts say, one after the other; the last one is repeated. */
const followScripts = (scripts: readonly Script[], onOpen?: () => Promise<void>) => {
  const log: string[] = []
  const stopping = new AbortController()
  const began = performance.now()
  let opened = 0
  async function* open(signal: AbortSignal): AsyncGenerator<string> {
    const script = scripts[Math.min(opened, scripts.length - 1)]
    opened += 1
    log.push(`open ${Math.round(performance.now() - began)}`)
    try {
      yield* script?.events ?? []
      if (script?.end === 'ended') return
      if (script?.end !== undefined) throw script.end
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    } finally {
      log.push('closed')
    }
  }
  const following = follow({
    open,
    ...(onOpen !== undefined && { onOpen }),
    onEvent: (event) => log.push(event),
    onLost: (error) => log.push(`lost: ${error instanceof ApiError ? error.code : (error as Error).message}`),
    pauses: { initial_delay_ms: 100, max_delay_seconds: 0.4 },
    random: () => 0,
    signal: stopping.signal,
  })
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
  const opens = () => log.filter((line) => line.startsWith('open'))
  return { log, opens, pass, stopping, ...following }
}

const GONE: Script = { end: new Error('gone') }

describe('following a stream of the engine', () => {
  it('begins the pauses anew after a stream that opened', async () => {
    const { log, opens, pass } = followScripts([GONE, GONE, { events: ['one', 'two'], end: new Error('cut') }, GONE])
    await pass(650)
    expect(opens()).toEqual(['open 0', 'open 100', 'open 300', 'open 400', 'open 600'])
    expect(log.slice(log.indexOf('open 300'), log.indexOf('open 400'))).toEqual(['open 300', 'one', 'two', 'closed', 'lost: cut'])
  })

  it('hands on no event before it is ready for them', async () => {
    const ready = Promise.withResolvers<void>()
    const { log, pass } = followScripts([{ events: ['one', 'two'] }], () => ready.promise)
    await pass(50)
    expect(log).toEqual(['open 0'])
    ready.resolve()
    await pass(0)
    expect(log).toEqual(['open 0', 'one', 'two'])
  })

  it.each([
    ['that it cannot make ready for', { events: ['one'] }, async () => Promise.reject(new Error('no database')), 'lost: no database'],
    ['that the engine ends', { end: 'ended' }, undefined, 'lost: SERVICE_UNAVAILABLE'],
  ] as const)('closes a stream %s, and its pauses grow', async (_what, script, onOpen, lost) => {
    const { log, pass } = followScripts([script], onOpen)
    await pass(350)
    expect(log).toEqual(['open 0', 'open 100', 'open 300'].flatMap((line) => [line, 'closed', lost]))
  })

  it('opens it again after doubling pauses, up to the longest, or at once when a retry is requested', async () => {
    const { opens, pass, retry } = followScripts([GONE])
    await pass(1150)
    retry()
    await pass(0)
    expect(opens()).toEqual(['open 0', 'open 100', 'open 300', 'open 700', 'open 1100', 'open 1150'])
  })

  it.each([
    ['an open stream', [{}], ['open 0', 'closed']],
    ['a pause', [GONE], ['open 0', 'closed', 'lost: gone']],
  ] as const)('ends with its signal during %s', async (_when, scripts, expected) => {
    const { log, pass, stopping, ended } = followScripts(scripts)
    await pass(50)
    stopping.abort()
    await ended
    await pass(10_000)
    expect(log).toEqual(expected)
    expect(vi.getTimerCount()).toBe(0)
  })
})
