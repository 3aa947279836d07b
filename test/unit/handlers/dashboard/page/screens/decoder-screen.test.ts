import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DecoderScreen } from '../../../../../../handlers/dashboard/page/screens/decoder-screen.ts'

const CONFIG = { codec: 'avc1.42E01E', codedWidth: 320, codedHeight: 180 }
const FRAME_MS = 40

interface Chunk {
  readonly type: 'key' | 'delta'
  readonly timestamp: number
}

/** A decoder of a browser that decodes when it is told to. */
class SlowDecoder {
  static all: SlowDecoder[] = []
  static get last(): SlowDecoder {
    return SlowDecoder.all.at(-1) as SlowDecoder
  }
  state = 'unconfigured'
  readonly given: Chunk[] = []
  readonly #output: (frame: unknown) => void
  #done = 0

  constructor({ output }: { output: (frame: unknown) => void }) {
    this.#output = output
    SlowDecoder.all.push(this)
  }
  get decodeQueueSize(): number {
    return this.given.length - this.#done
  }
  configure(): void {
    this.state = 'configured'
  }
  close(): void {
    this.state = 'closed'
  }
  /** Key frames that are refused as Chromium refuses those of an intra refresh. */
  static refused = 0
  decode(chunk: Chunk): void {
    if (SlowDecoder.refused > 0) {
      SlowDecoder.refused--
      throw new DOMException('A key frame is required', 'DataError')
    }
    this.given.push(chunk)
  }
  finish(count: number): void {
    for (const { timestamp } of this.given.slice(this.#done, this.#done + count)) {
      this.#done++
      this.#output({ timestamp, displayWidth: 320, displayHeight: 180, close: () => {} })
    }
  }
}

beforeEach(() => {
  vi.useFakeTimers()
  SlowDecoder.all = []
  SlowDecoder.refused = 0
  vi.stubGlobal('document', { hidden: false })
  vi.stubGlobal('VideoDecoder', SlowDecoder)
  vi.stubGlobal('EncodedVideoChunk', Object)
  vi.stubGlobal('requestAnimationFrame', () => 1)
  vi.stubGlobal('cancelAnimationFrame', () => {})
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const openScreen = () => {
  const delays: (number | null)[] = []
  const failures: string[] = []
  const canvas = { width: 0, height: 0, getContext: () => ({ drawImage: () => {} }) } as unknown as HTMLCanvasElement
  const screen = new DecoderScreen(canvas, { onPicture: (ms) => delays.push(ms), onFailure: (why) => failures.push(why) })
  screen.configure(CONFIG)
  let frames = 0
  const show = (type: 'key' | 'delta', count = 1): void => {
    for (let frame = 0; frame < count; frame++) screen.show({ type, timestamp: frames++ * FRAME_MS * 1000, data: new Uint8Array(8) })
  }
  return { show, delays, failures }
}

describe('the decoder of the live picture', () => {
  it('gets the whole of a long GOP that comes at once', () => {
    const { show, delays } = openScreen()
    show('key')
    show('delta', 299)
    expect(SlowDecoder.last.given).toHaveLength(300)
    vi.advanceTimersByTime(30)
    SlowDecoder.last.finish(1)
    expect(delays).toEqual([30])
  })

  it('goes on at the next key frame when it is more than a second behind', () => {
    const { show } = openScreen()
    show('key')
    show('delta', 20)
    SlowDecoder.last.finish(5)
    vi.advanceTimersByTime(1100)
    show('delta', 10)
    expect([SlowDecoder.all.length, SlowDecoder.last.given.length]).toEqual([1, 31])
    show('key')
    show('delta', 3)
    expect(SlowDecoder.all.map(({ state }) => state)).toEqual(['closed', 'configured'])
    expect(SlowDecoder.last.given.map(({ type }) => type)).toEqual(['key', 'delta', 'delta', 'delta'])
  })

  it('is left alone while it keeps up', () => {
    const { show } = openScreen()
    for (let gop = 0; gop < 5; gop++) {
      show('key')
      show('delta', 9)
      SlowDecoder.last.finish(10)
      vi.advanceTimersByTime(2000)
    }
    expect(SlowDecoder.all).toHaveLength(1)
  })

  it('begins at the first key frame that it does not refuse, and is given up after three', () => {
    const { show, failures } = openScreen()
    const gops = (count: number): void => {
      for (let gop = 0; gop < count; gop++) {
        show('key')
        show('delta', 4)
      }
    }
    SlowDecoder.refused = 2
    gops(3)
    expect([SlowDecoder.last.given.map(({ type }) => type), failures]).toEqual([['key', 'delta', 'delta', 'delta', 'delta'], []])
    SlowDecoder.last.finish(1)
    SlowDecoder.refused = 3
    show('key')
    gops(2)
    expect(failures).toEqual(['the decoder of this browser refuses the key frames of this stream'])
  })

  it('is given no more than it can keep', () => {
    const { show } = openScreen()
    show('key')
    show('delta', 2000)
    expect(SlowDecoder.last.given.length).toBeLessThan(650)
  })
})
