import type { VideoView } from '../../lib/schema/pipeline.ts'
import { CODECS } from '../codec/codecs.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { RtpCaps } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { frameRateHint } from './frame-rate-hint.ts'

/** What video a stream carries: codec by its caps, size and frame rate by the parameter set of the first key frame. */
export class ServedVideo {
  readonly #stream: RtpStream
  #size: { readonly width: number; readonly height: number; readonly fps: number | null } | undefined

  constructor(stream: RtpStream) {
    this.#stream = stream
    stream.onCaps((caps, previous) => {
      // The same caps are set more than once.
      if (previous === undefined || setsOf(caps) !== setsOf(previous)) this.#size = undefined
    })
    stream.onUnit((unit) => {
      if (unit.key && this.#size === undefined) this.#size = this.#read(unit)
    })
  }

  view(): VideoView | null {
    const { caps } = this.#stream
    if (caps === undefined) return null
    const { width = null, height = null, fps = null } = this.#size ?? {}
    return { codec: caps.encodingName.toLowerCase(), width, height, fps: fps ?? this.#measured(caps) }
  }

  #measured({ parameters }: RtpCaps): number | null {
    const stated = Number(parameters.get('a-framerate'))
    const { numerator, denominator } = (this.#size && frameRateHint(this.#stream).rate()) ?? { numerator: stated, denominator: 1 }
    const fps = numerator / denominator
    return fps > 0 && fps < 1000 ? Math.round(fps * 1000) / 1000 : null
  }

  #read(unit: AccessUnit) {
    const { encodingName, parameters } = this.#stream.caps ?? { encodingName: '', parameters: new Map<string, string>() }
    const codec = CODECS.get(encodingName)
    if (codec === undefined) return undefined
    const described = codec.capsFields.flatMap((name) => (parameters.get(name) ?? '').split(',').map((set) => Buffer.from(set, 'base64')))
    for (const nal of [...unit.nals(encodingName), ...described]) {
      const config = codec.isSps(nal) ? codec.configOf(nal) : undefined
      if (config !== undefined) return { width: config.codedWidth, height: config.codedHeight, fps: codec.frameRate(nal) }
    }
    return undefined
  }
}

const setsOf = ({ encodingName, parameters }: RtpCaps): string =>
  [encodingName, ...(CODECS.get(encodingName)?.capsFields ?? []).map((name) => parameters.get(name) ?? '')].join()
