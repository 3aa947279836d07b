import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'

const SECOND = 1_000_000
let output: { stopped: number; readonly starts: { readonly ms: number }[] }

/** Decodes each chunk at once: its bytes are the samples of a tenth of a second, in tenths. */
class InstantDecoder {
  static isConfigSupported = async () => ({ supported: true })
  readonly state = 'configured'
  readonly #output: (data: object) => void
  constructor({ output: take }: { output: (data: object) => void }) {
    this.#output = take
  }
  configure(): void {}
  close(): void {}
  decode({ timestamp, data }: { timestamp: number; data: Uint8Array }): void {
    const samples = Float32Array.from(data, (value) => value / 10)
    const copyTo = (target: Float32Array) => target.set(samples)
    this.#output({ numberOfFrames: data.length, numberOfChannels: 1, sampleRate: 8000, timestamp, copyTo, close: () => {} })
  }
}

/** An output whose clock is that of the page. */
class TestOutput {
  get currentTime(): number {
    return performance.now() / 1000
  }
  getOutputTimestamp = () => ({ contextTime: performance.now() / 1000, performanceTime: performance.now() })
  createGain = () => ({ gain: {}, connect: () => {} })
  createBuffer = () => ({ copyToChannel: () => {} })
  createBufferSource = () => {
    const node = {
      connect: () => {},
      playbackRate: { value: 1 },
      stop: () => {
        output.stopped += 1
      },
      start: (at: number) => output.starts.push({ ms: Math.round(at * 1000) }),
    }
    return node
  }
  resume = async () => {}
  close = async () => {}
}

beforeEach(() => {
  vi.resetModules()
  vi.useFakeTimers()
  output = { stopped: 0, starts: [] }
  vi.stubGlobal('AudioDecoder', InstantDecoder)
  vi.stubGlobal('EncodedAudioChunk', Object)
  vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => {} })
  vi.stubGlobal('AudioContext', TestOutput)
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** Sound that has been turned on, a frame of 20 ms at a time. */
const setUp = async () => {
  const { createSound } = await import('../../../../../../handlers/dashboard/page/sound/sound.ts')
  const sound = createSound()
  onTestFinished(() => sound.close())
  sound.configure({ codec: 'alaw', sampleRate: 8000, numberOfChannels: 1 })
  await vi.advanceTimersByTimeAsync(100)
  const play = (ms: number): void => sound.play(ms * 1000, new Uint8Array(160).fill(1))
  return { sound, play }
}

it('measures sound that is muted, and plays it in step with its times once it is turned on', async () => {
  const { sound, play } = await setUp()
  expect(sound.level.value).toBe(0)
  sound.play(5 * SECOND, Uint8Array.of(1, 8, 2))
  await vi.advanceTimersByTimeAsync(100)
  expect([sound.level.value?.toFixed(1), output.starts, sound.heardAfterMs()]).toEqual(['0.8', [], undefined])

  sound.setMuted(false)
  const nowMs = performance.now()
  // The second is late by what its network took.
  play(5200)
  await vi.advanceTimersByTimeAsync(35)
  play(5220)
  const began = output.starts[0]?.ms ?? 0
  expect(output.starts.map(({ ms }) => ms - began)).toEqual([0, 20])
  expect(Math.abs(began - nowMs - 80)).toBeLessThanOrEqual(1)
  expect(Math.round((sound.heardAfterMs() ?? 0) - (nowMs - 5200))).toBe(80)
})

it.each([
  ['faster', 1.01],
  ['slower', 0.99],
])('follows a source whose clock is %s, without a break', async (_, speed) => {
  const { sound, play } = await setUp()
  sound.setMuted(false)
  const beganMs = performance.now()
  for (let frame = 0; frame < 1500; frame += 1) {
    play(1000 + frame * 20)
    await vi.advanceTimersByTimeAsync(Math.round(((frame + 1) * 20) / speed) - Math.round((frame * 20) / speed))
  }
  expect(output.stopped).toBe(0)
  const last = output.starts.at(-1)?.ms ?? 0
  expect(Math.abs(last - beganMs - (1499 * 20) / speed - 80)).toBeLessThan(40)
})

it('plays no sound of a burst together with what comes after it', async () => {
  const { sound, play } = await setUp()
  sound.setMuted(false)
  for (let frame = 0; frame < 100; frame += 1) play(1000 + frame * 20)
  const { starts, stopped } = output
  // All that was scheduled too late for the newest is not heard.
  expect(stopped).toBeGreaterThan(90)
  expect(Math.abs((starts.at(-1)?.ms ?? 0) - performance.now() - 80)).toBeLessThanOrEqual(60)
})
