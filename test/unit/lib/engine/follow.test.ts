import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { follow } from '../../../../lib/engine/follow.ts'
import { ApiError } from '../../../../lib/errors.ts'
import { useFakeTimers } from '../../../helpers/fake-timers.ts'

beforeEach(() => {
  useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

interface Script {
  readonly events?: readonly string[]
  /** What the stream ends with; undefined: it stays open until the signal aborts. */
  readonly end?: Error | 'ended'
}

/** Follows streams that do what the scripts say, one after the other; the last one is repeated. */
const followScripts = (scripts: readonly Script[], options: { readonly onOpen?: () => Promise<void> } = {}) => {
  const log: string[] = []
  const stopping = new AbortController()
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
  const began = performance.now()
  const following = follow({
    open,
    onEvent: (event) => log.push(event),
    onLost: (error) => log.push(`lost: ${error instanceof ApiError ? error.code : (error as Error).message}`),
    pauses: { initial_delay_ms: 100, max_delay_seconds: 0.4 },
    random: () => 0,
    signal: stopping.signal,
    ...options,
  })
  return { log, stopping, ...following }
}

const GONE: Script = { end: new Error('gone') }

describe('following a stream of the engine', () => {
  it('opens it again after doubling pauses, up to the longest', async () => {
    const { log } = followScripts([GONE])
    await vi.advanceTimersByTimeAsync(1300)
    expect(log.filter((line) => line.startsWith('open'))).toEqual(['open 0', 'open 100', 'open 300', 'open 700', 'open 1100'])
  })

  it('begins the pauses anew after a stream that opened', async () => {
    const { log } = followScripts([GONE, GONE, { events: ['one', 'two'], end: new Error('cut') }, GONE])
    await vi.advanceTimersByTimeAsync(650)
    expect(log.filter((line) => !line.startsWith('lost: gone') && line !== 'closed')).toEqual([
      'open 0',
      'open 100',
      'open 300',
      'one',
      'two',
      'lost: cut',
      'open 400',
      'open 600',
    ])
  })

  it('hands on no event before it is ready for them', async () => {
    const ready = Promise.withResolvers<void>()
    const { log } = followScripts([{ events: ['one', 'two'] }], { onOpen: () => ready.promise })
    await vi.advanceTimersByTimeAsync(50)
    expect(log).toEqual(['open 0'])
    ready.resolve()
    await vi.advanceTimersByTimeAsync(0)
    expect(log).toEqual(['open 0', 'one', 'two'])
  })

  it('closes a stream that it cannot make ready for, and its pauses grow', async () => {
    const { log } = followScripts([{ events: ['one'] }], { onOpen: async () => Promise.reject(new Error('no database')) })
    await vi.advanceTimersByTimeAsync(350)
    expect(log).toEqual(['open 0', 'open 100', 'open 300'].flatMap((line) => [line, 'closed', 'lost: no database']))
  })

  it('treats a stream that the engine ends as lost', async () => {
    const { log } = followScripts([{ events: ['one'], end: 'ended' }, {}])
    await vi.advanceTimersByTimeAsync(100)
    expect(log).toEqual(['open 0', 'one', 'closed', 'lost: SERVICE_UNAVAILABLE', 'open 100'])
  })

  it('opens it at once when it is asked to during a pause', async () => {
    const { log, retry } = followScripts([GONE])
    await vi.advanceTimersByTimeAsync(350)
    retry()
    await vi.advanceTimersByTimeAsync(0)
    expect(log.filter((line) => line.startsWith('open'))).toEqual(['open 0', 'open 100', 'open 300', 'open 350'])
  })

  it.each([
    ['an open stream', [{}], ['open 0', 'closed']],
    ['a pause', [GONE], ['open 0', 'closed', 'lost: gone']],
  ] as const)('ends with its signal during %s', async (_when, scripts, expected) => {
    const { log, stopping, ended } = followScripts(scripts)
    await vi.advanceTimersByTimeAsync(50)
    stopping.abort()
    await ended
    await vi.advanceTimersByTimeAsync(10_000)
    expect(log).toEqual(expected)
    expect(vi.getTimerCount()).toBe(0)
  })
})
