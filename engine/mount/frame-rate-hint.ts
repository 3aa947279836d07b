import { CODECS, type VideoCodec } from '../codec/codecs.ts'
import type { FrameRate } from '../codec/frame-rate.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { RtpCaps } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'

/** Pictures of a GOP that a rate is measured from, at least and at most. */
const MIN_UNITS = 6
const MAX_UNITS = 300
/** From so many on the rate stays; before, it is measured again among twice as many. The first pictures of a stream come unevenly. */
const ENOUGH_UNITS = 48
/** A step between two pictures counts that differs from the usual one by at most this part of it: the others are losses. */
const USUAL = 0.25
/** Up to this part a rate differs from the one that was meant, by the resolution of the camera's clock. */
const TOLERANCE = 0.01
const MAX_RATE = 240
const TELEVISION_RATES: readonly FrameRate[] = [24, 30, 60].map((rate) => ({ numerator: rate * 1000, denominator: 1001 }))

/**
 * Tells who joins the frame rate of an H.264 or H.265 stream whose parameter sets do not. Many clients, FFmpeg among them, guess
 * it from the times of the first pictures, which are those of the cached GOP, drawn together: they take thousands of pictures a
 * second, and an output of a fixed rate becomes as many copies of each picture.
 *
 * The rate is measured in the cached GOP when somebody joins. Whoever joins from then on gets sequence parameter sets with it, in
 * the description and in the stream. For those who were there before, the sets stay as they were: multiplexers refuse others.
 * Whose description came before it could be measured gets the cached pictures with their own times, to guess it from these.
 */
export class FrameRateHint {
  readonly #stream: Pick<RtpStream, 'caps' | 'gop'>
  /** The set that the rate belongs to. */
  #sps: Buffer | undefined
  #measuredUnits = 0
  #told: ToldRate | undefined

  constructor(stream: Pick<RtpStream, 'caps' | 'gop'>) {
    this.#stream = stream
  }

  /** What is to be told to who joins now; undefined when the stream tells it, or too few pictures have come. */
  rate(): FrameRate | undefined {
    const units = this.#stream.gop?.units ?? []
    const sps = units.length < MIN_UNITS ? undefined : this.#silentSps()
    if (sps === undefined) return this.#told?.rate
    const isEnough = this.#measuredUnits >= ENOUGH_UNITS || units.length < 2 * this.#measuredUnits
    if (isEnough && this.#sps?.equals(sps)) return this.#told?.rate
    this.#sps = Buffer.from(sps)
    this.#measuredUnits = units.length
    const rate = measureFrameRate(units.slice(-MAX_UNITS))
    this.#told = rate && new ToldRate(this.#stream, rate)
    return rate
  }

  /** Nothing tells the rate to who joins now, since too few pictures have come. */
  get mustBeGuessed(): boolean {
    return this.#silentSps() !== undefined && this.rate() === undefined && (this.#stream.gop?.units.length ?? 0) < MIN_UNITS
  }

  /** The first set that does not say the rate. */
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

  /** What a reader that joins now gets instead of each unit. */
  join(): (unit: AccessUnit) => AccessUnit {
    this.rate()
    const told = this.#told
    return (unit) => (told !== undefined && unit.key ? told.in(unit) : unit)
  }
}

/** A rate, and the key frames that say it: made once for all readers that are told it. */
class ToldRate {
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
    const told = unit.withNals(encodingName, (nal) => {
      const set = codec?.withFrameRate(nal, this.rate)
      return set && Buffer.from(set)
    })
    this.#units.set(unit, told)
    this.#last?.release()
    this.#last = told
    return told
  }
}

const hints = new WeakMap<RtpStream, FrameRateHint>()

/** The one of a stream: all who join must be told the same. */
export const frameRateHint = (stream: RtpStream): FrameRateHint => {
  const known = hints.get(stream)
  if (known !== undefined) return known
  const hint = new FrameRateHint(stream)
  hints.set(stream, hint)
  return hint
}

/** To ask whether a set says its rate. */
const ANY: FrameRate = { numerator: 1, denominator: 1 }

const describedNals = ({ capsFields }: VideoCodec, { parameters }: RtpCaps): readonly Buffer[] =>
  capsFields.flatMap((name) => (parameters.get(name) ?? '').split(',').map((set) => Buffer.from(set, 'base64')))

/** Of a set in Base64. */
const withFrameRate = (codec: VideoCodec, set: string, rate: FrameRate): string => {
  const told = codec.withFrameRate(Buffer.from(set, 'base64'), rate)
  return told === undefined ? set : Buffer.from(told).toString('base64')
}

/** Pictures per second of a GOP, whatever the order of its units; undefined when they are too few, or their times make no sense. */
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

/** Whole, or a rate of television; any other one to a thousandth. */
const nearestRate = (rate: number): FrameRate => {
  const whole = { numerator: Math.round(rate), denominator: 1 }
  const distance = ({ numerator, denominator }: FrameRate): number => Math.abs(numerator / denominator - rate)
  const nearest = TELEVISION_RATES.reduce((best, other) => (distance(other) < distance(best) ? other : best), whole)
  return distance(nearest) <= rate * TOLERANCE ? nearest : { numerator: Math.round(rate * 1000), denominator: 1000 }
}
