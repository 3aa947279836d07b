/** Sound is heard this long after what comes without delay, milliseconds: frames come one at a time, and are decoded first. */
const LEAD_MS = 80
/** An error beyond this is mended at once, a smaller one by a change of speed that is not heard; milliseconds. */
const MAX_ERROR_MS = 60
/** An error is gone after about this time. */
const MEND_MS = 500
const MAX_SPEED_CHANGE = 0.05
const SMOOTHING = 0.05

interface DecodedSound {
  readonly channels: readonly Float32Array<ArrayBuffer>[]
  /** Hz */
  readonly rate: number
  /** Its time in the stream. */
  readonly atMs: number
}

export interface SoundOutput {
  /** Begins anew with the next frame; the output plays after an action of the user. */
  readonly begin: () => void
  /** `lateMs`: by how much the clock of the page is ahead of the times of what comes without delay. */
  readonly schedule: (sound: DecodedSound, lateMs: number) => void
  /** How far the clock of the page is ahead of the sound that is heard; undefined while none is scheduled. */
  readonly heardAfterMs: () => number | undefined
  readonly setVolume: (volume: number) => void
  readonly close: () => void
}

/** Plays the frames one after the other, at the speed of their source. */
export const createSoundOutput = (volume: number): SoundOutput => {
  const context = new AudioContext({ latencyHint: 'interactive' })
  const gain = context.createGain()
  gain.gain.value = volume
  gain.connect(context.destination)
  const clock = createOutputClock(context)
  let scheduled: AudioBufferSourceNode[] = []
  /** When the next frame begins, seconds of the output; undefined: it begins anew. */
  let next: number | undefined
  let heardAfterMs: number | undefined
  const restart = (): void => {
    // What was scheduled would be heard together with the next.
    for (const node of scheduled) node.stop()
    scheduled = []
    next = undefined
  }
  const speedFor = (errorMs: number): number => 1 - Math.max(-MAX_SPEED_CHANGE, Math.min(MAX_SPEED_CHANGE, errorMs / MEND_MS))
  return {
    begin: () => {
      void context.resume()
      restart()
      heardAfterMs = undefined
    },
    schedule: ({ channels, rate, atMs }, lateMs) => {
      const [first] = channels
      if (first === undefined || first.length === 0) return
      const due = clock.at(atMs + lateMs + LEAD_MS)
      if (next !== undefined && (Math.abs(due - next) * 1000 > MAX_ERROR_MS || next < context.currentTime)) restart()
      const start = next ?? Math.max(due, context.currentTime)
      const speed = speedFor((due - start) * 1000)
      const buffer = context.createBuffer(channels.length, first.length, rate)
      for (const [index, samples] of channels.entries()) buffer.copyToChannel(samples, index)
      const node = context.createBufferSource()
      node.buffer = buffer
      node.playbackRate.value = speed
      node.connect(gain)
      node.onended = () => {
        scheduled = scheduled.filter((other) => other !== node)
      }
      node.start(start)
      scheduled.push(node)
      next = start + first.length / rate / speed
      heardAfterMs = lateMs + LEAD_MS - (due - start) * 1000
    },
    heardAfterMs: () => heardAfterMs,
    setVolume: (value) => {
      gain.gain.value = value
    },
    close: () => void context.close(),
  }
}

/** When a moment of the page is heard; the two clocks differ in speed, and the output has a delay of its own. */
const createOutputClock = (context: AudioContext) => {
  let differenceMs: number | undefined
  const differenceNow = (): number => {
    const { contextTime = 0, performanceTime = 0 } = context.getOutputTimestamp()
    // Before anything was heard.
    return contextTime > 0 ? contextTime * 1000 - performanceTime : context.currentTime * 1000 - performance.now()
  }
  return {
    /** Seconds of the output. */
    at: (pageMs: number): number => {
      const now = differenceNow()
      const isOther = differenceMs === undefined || Math.abs(now - differenceMs) > MAX_ERROR_MS
      differenceMs = differenceMs === undefined || isOther ? now : differenceMs + (now - differenceMs) * SMOOTHING
      return (pageMs + differenceMs) / 1000
    },
  }
}
