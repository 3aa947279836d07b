import { NAL_FORMATS, type NalCodec } from './nal-units.ts'

/** More, or larger, than encoders use. */
const MAX_SETS = 64
const MAX_SET_BYTES = 8 * 1024
/** All sets together: they are sent with each key frame that comes without its own, however small that is. */
const MAX_BYTES = 16 * 1024

/** The parameter sets of a stream: the newest of each type and id, in the order in which a decoder needs them. */
export class ParameterSets {
  readonly #codec: NalCodec
  readonly #sets = new Map<string, Buffer>()
  #bytes = 0
  #announced: ReadonlyMap<string, string>
  #changed = false

  /** `announced`: those of the caps. */
  constructor(codec: NalCodec, announced: ReadonlyMap<string, string>) {
    this.#codec = codec
    this.#announced = announced
    for (const name of new Set(NAL_FORMATS[codec].parameterSets.values())) {
      for (const text of (announced.get(name) ?? '').split(',')) this.learn(Buffer.from(text, 'base64'))
    }
    this.#changed = false
  }

  /** Takes a NAL unit that may be a parameter set. */
  learn(nal: Buffer): void {
    const { headerBytes, typeOf, parameterSets } = NAL_FORMATS[this.#codec]
    if (nal.length <= headerBytes || nal.length > MAX_SET_BYTES) return
    const type = typeOf(nal[0] ?? 0)
    if (!parameterSets.has(type)) return
    const id = `${type} ${idOf(this.#codec, type, nal)}`
    const known = this.#sets.get(id)
    const bytes = this.#bytes - (known?.length ?? 0) + nal.length
    if (known?.equals(nal) || bytes > MAX_BYTES || (known === undefined && this.#sets.size >= MAX_SETS)) return
    this.#bytes = bytes
    // A copy: the packet is a view of a larger buffer.
    this.#sets.set(id, Buffer.from(nal))
    this.#changed = true
  }

  /** Those of a type. */
  ofType(type: number): readonly Buffer[] {
    return [...this.#sets].flatMap(([id, nal]) => (id.startsWith(`${type} `) ? [nal] : []))
  }

  /** As parameters of caps, once they differ from the announced ones or from those of the last call; undefined otherwise. */
  newParameters(): ReadonlyMap<string, string> | undefined {
    if (!this.#changed) return undefined
    this.#changed = false
    const present = this.#format()
    if ([...present].every(([name, value]) => this.#announced.get(name) === value)) return undefined
    this.#announced = present
    return present
  }

  #format(): ReadonlyMap<string, string> {
    const parameters = new Map<string, string>()
    for (const [type, name] of NAL_FORMATS[this.#codec].parameterSets) {
      const texts = this.ofType(type).map((nal) => nal.toString('base64'))
      const value = [...(parameters.get(name)?.split(',') ?? []), ...texts].join(',')
      if (value !== '') parameters.set(name, value)
    }
    const [sps] = this.#codec === 'H264' ? this.ofType(7) : []
    if (sps !== undefined) parameters.set('profile-level-id', sps.toString('hex', 1, 4))
    return parameters
  }
}

/** The id of a parameter set where it is easy to find; one of each type is usual elsewhere. */
const idOf = (codec: NalCodec, type: number, nal: Buffer): number => {
  if (codec === 'H264') return exponentialGolomb(nal, type === 7 ? 4 : 1)
  return type === 34 ? exponentialGolomb(nal, 2) : 0
}

/** The unsigned Exp-Golomb code (ITU-T H.264 section 9.1) that begins with this byte. */
const exponentialGolomb = (nal: Buffer, at: number): number => {
  const bits = (nal[at] ?? 0) * 2 ** 16 + (nal[at + 1] ?? 0) * 2 ** 8 + (nal[at + 2] ?? 0)
  const zeros = Math.clz32(bits) - 8
  return zeros > 11 ? 0 : (bits >>> (23 - 2 * zeros)) - 1
}
