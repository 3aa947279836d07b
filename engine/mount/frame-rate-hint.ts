import { CODECS, type VideoCodec } from '../codec/codecs.ts'
import type { FrameRate } from '../codec/frame-rate.ts'
import { isFieldSlice, parseH264Sps } from '../codec/h264-sps.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { RtpCaps } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'

/** Pictures of a GOP that a rate is measured from, at least and at most. */
const MIN_UNITS = 6
const MAX_UNITS = 300
/** With this many the rate is final; with fewer it is measured again among twice as many, since a stream begins unevenly. */
const ENOUGH_UNITS = 48
/** Steps between two pictures that differ from the usual one by more than this part of it are losses, and do not count. */
const USUAL = 0.25
/** A measured rate differs from the nominal one by up to this part: the resolution of the camera's clock. */
const TOLERANCE = 0.01
const MAX_RATE = 240
const TELEVISION_RATES: readonly FrameRate[] = [24, 30, 60].map((rate) => ({ numerator: rate * 1000, denominator: 1001 }))

/**
 * Announces the frame rate of an H.264 or H.265 stream whose parameter sets do not state it. Many clients, FFmpeg among them, guess
 * it from the times of the first pictures. Those are the cached GOP with compressed timestamps: the guess is thousands of pictures per
 * second, and an output of a fixed rate then repeats each picture as often.
 *
 * The rate is measured in the cached GOP when a reader joins. Readers that join from then on get sequence parameter sets with the rate,
 * in the description and in the stream. For earlier readers the sets stay as they were: multiplexers refuse others. A reader that was
 * described before the rate could be measured gets the cached pictures with their original timestamps, to guess the rate from these.
 */
export class FrameRateHint {
  readonly #stream: Pick<RtpStream, 'caps' | 'gop'>
  /** The set that the rate belongs to. */
  #sps: Buffer | undefined
  #measuredUnits = 0
  #announced: AnnouncedRate | undefined

  constructor(stream: Pick<RtpStream, 'caps' | 'gop'>) {
    this.#stream = stream
  }

  /** The rate to announce to a new reader; undefined when the stream states it, or too few pictures have come. */
  rate(): FrameRate | undefined {
    const units = this.#stream.gop?.units ?? []
    const sps = units.length < MIN_UNITS ? undefined : this.#silentSps()
    if (sps === undefined) return this.#announced?.rate
    const isEnough = this.#measuredUnits >= ENOUGH_UNITS || units.length < 2 * this.#measuredUnits
    if (isEnough && this.#sps?.equals(sps)) return this.#announced?.rate
    this.#sps = Buffer.from(sps)
    this.#measuredUnits = units.length
    const rate = measureFrameRate(this.#frames(units.slice(-MAX_UNITS), sps))
    this.#announced = rate && new AnnouncedRate(this.#stream, rate)
    return rate
  }

  /** A new reader has to guess the rate: too few pictures have come to measure it. */
  get mustBeGuessed(): boolean {
    return this.#silentSps() !== undefined && this.rate() === undefined && (this.#stream.gop?.units.length ?? 0) < MIN_UNITS
  }

  /** The units without the second field of each frame, which may have a time of its own. */
  #frames(units: readonly AccessUnit[], set: Buffer): readonly AccessUnit[] {
    const { encodingName = '' } = this.#stream.caps ?? {}
    const sps = encodingName === 'H264' ? parseH264Sps(set) : undefined
    if (sps?.fields !== true) return units
    let awaitsSecond = false
    return units.filter((unit) => {
      const isField = unit.nals(encodingName).some((nal) => isFieldSlice(nal, sps))
      const isSecond = awaitsSecond && isField
      awaitsSecond = isField && !isSecond
      return !isSecond
    })
  }

  /** The first sequence parameter set that does not state the rate. */
  #silentSps(): Buffer | undefined {
    const { caps, gop } = this.#stream
    const codec = CODECS.get(caps?.encodingName ?? '')
    const key = gop?.units[0]
    if (caps === undefined || codec === undefined || key === undefined) return undefined
    return [...key.nals(caps.encodingName), ...describedNals(codec, caps)].find((nal) => codec.withFrameRate(nal, ANY) !== undefined)
  }

  /** The caps for a description. */
  describe(caps: RtpCaps): RtpCaps {
    const rate = this.rate()
    const codec = CODECS.get(caps.encodingName)
    if (rate === undefined || codec === undefined) return caps
    const parameters = new Map(caps.parameters)
    for (const name of codec.capsFields) {
      const sets = caps.parameters.get(name)?.split(',')
      if (sets !== undefined) parameters.set(name, sets.map((set) => withFrameRate(codec, set, rate)).join(','))
    }
    return { ...caps, parameters }
  }

  /** Returns what a reader that joins now gets in place of each unit. */
  join(): (unit: AccessUnit) => AccessUnit {
    this.rate()
    const announced = this.#announced
    return (unit) => (announced !== undefined && unit.key ? announced.in(unit) : unit)
  }
}

/** A rate, and the key frames with it: made once for all readers that get them. */
class AnnouncedRate {
  readonly rate: FrameRate
  readonly #stream: Pick<RtpStream, 'caps'>
  readonly #units = new WeakMap<AccessUnit, AccessUnit>()
  #last: AccessUnit | undefined

  constructor(stream: Pick<RtpStream, 'caps'>, rate: FrameRate) {
    this.#stream = stream
    this.rate = rate
  }

  in(unit: AccessUnit): AccessUnit {
    const known = this.#units.get(unit)
    if (known !== undefined) return known
    const { encodingName = '' } = this.#stream.caps ?? {}
    const codec = CODECS.get(encodingName)
    const announced = unit.withNals(encodingName, (nal) => {
      const set = codec?.withFrameRate(nal, this.rate)
      return set && Buffer.from(set)
    })
    this.#units.set(unit, announced)
    this.#last?.release()
    this.#last = announced
    return announced
  }
}

const hints = new WeakMap<RtpStream, FrameRateHint>()

/** One for each stream: the rate is the same for all readers that join. */
export const frameRateHint = (stream: RtpStream): FrameRateHint => {
  const known = hints.get(stream)
  if (known !== undefined) return known
  const hint = new FrameRateHint(stream)
  hints.set(stream, hint)
  return hint
}

/** To find out whether a set states its rate. */
const ANY: FrameRate = { numerator: 1, denominator: 1 }

const describedNals = ({ capsFields }: VideoCodec, { parameters }: RtpCaps): readonly Buffer[] =>
  capsFields.flatMap((name) => (parameters.get(name) ?? '').split(',').map((set) => Buffer.from(set, 'base64')))

/** A set in Base64. */
const withFrameRate = (codec: VideoCodec, set: string, rate: FrameRate): string => {
  const changed = codec.withFrameRate(Buffer.from(set, 'base64'), rate)
  return changed === undefined ? set : Buffer.from(changed).toString('base64')
}

/** Pictures per second of a GOP, with its units in any order; undefined when they are too few or their times are no steady rate. */
export const measureFrameRate = (units: readonly { readonly mediaMs: number }[]): FrameRate | undefined => {
  const times = units.map(({ mediaMs }) => mediaMs).sort((one, other) => one - other)
  const steps = times.flatMap((time, at) =>
    at > 0 && time - (times[at - 1] ?? 0) >= 1000 / MAX_RATE / 2 ? [time - (times[at - 1] ?? 0)] : [],
  )
  const middle = [...steps].sort((one, other) => one - other)[Math.floor(steps.length / 2)]
  if (middle === undefined || steps.length < MIN_UNITS - 1) return undefined
  const usual = steps.filter((step) => Math.abs(step - middle) <= middle * USUAL)
  const rate = (1000 * usual.length) / usual.reduce((sum, step) => sum + step, 0)
  return rate <= MAX_RATE && rate >= 1 ? nearestRate(rate) : undefined
}

/** A whole number or a television rate when one is close; else to a thousandth. */
const nearestRate = (rate: number): FrameRate => {
  const whole = { numerator: Math.round(rate), denominator: 1 }
  const distance = ({ numerator, denominator }: FrameRate): number => Math.abs(numerator / denominator - rate)
  const nearest = TELEVISION_RATES.reduce((best, other) => (distance(other) < distance(best) ? other : best), whole)
  return distance(nearest) <= rate * TOLERANCE ? nearest : { numerator: Math.round(rate * 1000), denominator: 1000 }
}
