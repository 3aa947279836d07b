import { CODECS, type DecoderConfig, type ParameterSet, type VideoCodec } from '../codec/codecs.ts'
import { type Nal, nalBytes } from '../codec/nal.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { RtpCaps } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'
import type { PictureOrder } from './picture-order.ts'

/** An access unit as a decoder takes it. */
export interface CodedPicture {
  readonly codec: VideoCodec
  readonly key: boolean
  /** A key picture begins with its parameter sets. */
  readonly nals: readonly Nal[]
  /** From the newest sequence parameter set; the same object until it changes. */
  readonly config: DecoderConfig
  /** How many pictures a decoder may have to hold back because a later one is shown earlier. */
  readonly reorderFrames: number
}

/** What is known of a picture beside its bytes. */
interface PictureFacts extends Pick<CodedPicture, 'codec' | 'config' | 'reorderFrames'> {
  /** The parameter sets of a key picture. */
  readonly sets: readonly Nal[]
}

/** Pictures that are reordered while a stream has not shown how many, or has more than its parameter sets state. */
const USUAL_REORDERING = 2
/** Parameter sets kept of each kind; most streams have one. */
const MAX_SETS = 16
const MAX_SET_BYTES = 4096
/** All parameter sets together: they are sent with each key picture, however small that is. */
const MAX_BYTES = 16 * 1024

/**
 * The pictures of an RTP stream: each access unit is depacketized once for all readers. Every key picture gets the parameter sets that
 * came before it.
 */
export class ElementaryStream {
  readonly #order: Pick<PictureOrder, 'reordered'>
  /** What the newest unit has: most are asked for while they are that. */
  #newest: { readonly unit: AccessUnit; readonly picture: CodedPicture | undefined } | undefined
  /** By `identity` of a unit: what its bytes alone do not say. */
  readonly #known = new WeakMap<AccessUnit['identity'], PictureFacts | 'none'>()
  readonly #sets = new Map<ParameterSet, Map<number, Nal>>()
  readonly #unsubscribe: readonly (() => void)[]
  #codec: VideoCodec | undefined
  #config: DecoderConfig | undefined
  /** What the first sequence parameter set states of reordering. */
  #stated: { readonly sps: Nal | undefined; readonly frames: number | undefined } = { sps: undefined, frames: undefined }

  constructor(stream: RtpStream, order: Pick<PictureOrder, 'reordered'>) {
    this.#order = order
    if (stream.caps !== undefined) this.#setCaps(stream.caps)
    this.#unsubscribe = [
      stream.onCaps((caps) => this.#setCaps(caps)),
      // Every unit, also one that no reader takes: it may have parameter sets.
      stream.onUnit((unit) => void this.picture(unit)),
    ]
  }

  /** Undefined before the first sequence parameter set. */
  get config(): DecoderConfig | undefined {
    return this.#config
  }

  /** The picture of a unit; undefined when the unit has none, or no parameter sets are known yet. Units must be passed in their order. */
  picture(unit: AccessUnit): CodedPicture | undefined {
    if (this.#newest?.unit === unit) return this.#newest.picture
    const known = this.#known.get(unit.identity)
    if (known !== undefined) return known === 'none' ? undefined : pictureOf(unit, known, known.codec.depacketize(unit.payloads()))
    const picture = this.#read(unit)
    // Without parameter sets the unit may still be read later.
    if (this.#config !== undefined) this.#newest = { unit, picture }
    return picture
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }

  #setCaps(caps: RtpCaps): void {
    const codec = CODECS.get(caps.encodingName)
    if (codec !== this.#codec) {
      this.#codec = codec
      this.#config = undefined
      this.#sets.clear()
    }
    const fields = (codec?.capsFields ?? []).flatMap((name) => caps.parameters.get(name)?.split(',') ?? [])
    for (const field of fields) {
      const bytes = Buffer.from(field, 'base64')
      const [nal] = codec?.depacketize([bytes]) ?? []
      if (codec !== undefined && nal !== undefined) this.#remember(codec, nal)
    }
  }

  #read(unit: AccessUnit): CodedPicture | undefined {
    const codec = this.#codec
    if (codec === undefined) return undefined
    const nals = codec.depacketize(unit.payloads())
    for (const nal of nals) this.#remember(codec, nal)
    const config = this.#config
    if (config === undefined) return undefined
    const isPicture = nals.some(({ type }) => codec.isPicture(type))
    const facts = isPicture && { codec, config, reorderFrames: this.#reorderFrames(codec), sets: unit.key ? this.#setsOf(codec) : [] }
    this.#known.set(unit.identity, facts || 'none')
    return facts ? pictureOf(unit, facts, nals) : undefined
  }

  #remember(codec: VideoCodec, nal: Nal): void {
    const set = codec.parameterSets.get(nal.type)
    if (set === undefined) return
    const bytes = nalBytes(nal)
    const id = bytes.length > MAX_SET_BYTES ? undefined : codec.idOf(set, bytes)
    if (id === undefined) return
    const known = this.#sets.get(set) ?? new Map<number, Nal>()
    const before = known.get(id)
    if (before !== undefined && Buffer.compare(nalBytes(before), bytes) === 0) return
    if (before === undefined && known.size >= MAX_SETS) return
    if (this.#setBytes() - sizeOf(before) + bytes.length > MAX_BYTES) return
    // A copy, so that the packets of the unit do not stay in memory with it.
    known.set(id, { type: nal.type, pieces: [Uint8Array.from(bytes)] })
    this.#sets.set(set, known)
    if (set !== 'sps') return
    // They belong to the previous sequence parameter set.
    if (before !== undefined) this.#sets.delete('pps')
    const config = codec.configOf(bytes)
    if (config !== undefined && JSON.stringify(config) !== JSON.stringify(this.#config)) this.#config = config
  }

  #setBytes(): number {
    const sets = [...this.#sets.values()].flatMap((known) => [...known.values()])
    return sets.reduce((sum, nal) => sum + sizeOf(nal), 0)
  }

  #setsOf(codec: VideoCodec): readonly Nal[] {
    return codec.order.flatMap((set) => [...(this.#sets.get(set)?.values() ?? [])])
  }

  #reorderFrames(codec: VideoCodec): number {
    const { reordered } = this.#order
    const [sps] = this.#sets.get('sps')?.values() ?? []
    // Is asked for each picture; another set is another object.
    if (this.#stated.sps !== sps) this.#stated = { sps, frames: sps && codec.reorderFrames(nalBytes(sps)) }
    const stated = this.#stated.frames
    // Some sets deny B-frames, and some have fewer than there are.
    if (reordered !== undefined && reordered > 0) return Math.max(reordered, stated || USUAL_REORDERING)
    return stated ?? reordered ?? USUAL_REORDERING
  }
}

const pictureOf = ({ key }: AccessUnit, { codec, config, reorderFrames, sets }: PictureFacts, nals: readonly Nal[]): CodedPicture => ({
  codec,
  key,
  nals: key ? withParameterSets(codec, sets, nals) : nals,
  config,
  reorderFrames,
})

/** An access unit delimiter stays first (H.264 section 7.4.1.2.3). */
const withParameterSets = (codec: VideoCodec, sets: readonly Nal[], nals: readonly Nal[]): readonly Nal[] => {
  const own = nals.filter(({ type }) => !codec.parameterSets.has(type))
  const at = own[0]?.type === codec.accessUnitDelimiter ? 1 : 0
  return [...own.slice(0, at), ...sets, ...own.slice(at)]
}

const sizeOf = (nal: Nal | undefined): number => nal?.pieces.reduce((sum, piece) => sum + piece.length, 0) ?? 0
