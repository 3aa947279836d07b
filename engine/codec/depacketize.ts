import { aggregatedUnits } from './aggregation.ts'
import type { Nal } from './nal.ts'
import { FRAGMENT_END, FRAGMENT_START, RTP_LAYOUTS, type RtpLayout } from './rtp-layout.ts'

/** The NAL units in the RTP payloads of one access unit. Malformed and incomplete ones are left out. */
export type Depacketize = (payloads: readonly Uint8Array[]) => Nal[]

const isNalType = (type: number, { aggregation }: RtpLayout): boolean => type < aggregation

const depacketizer =
  (layout: RtpLayout): Depacketize =>
  (payloads) => {
    const { headerBytes, typeOf, aggregation, fragment } = layout
    const nals: Nal[] = []
    /** A NAL unit whose last fragment has not come yet. */
    let open: { readonly type: number; readonly pieces: Uint8Array[] } | undefined
    const add = (bytes: Uint8Array): void => {
      const type = typeOf(bytes[0] ?? 0)
      if (bytes.length > headerBytes && isNalType(type, layout)) nals.push({ type, pieces: [bytes] })
    }
    for (const payload of payloads) {
      const type = typeOf(payload[0] ?? 0)
      if (type !== fragment) {
        open = undefined
        if (type === aggregation) for (const bytes of aggregatedUnits(payload.subarray(headerBytes)).units) add(bytes)
        else add(payload)
        continue
      }
      const place = payload[headerBytes] ?? 0
      if ((place & FRAGMENT_START) !== 0) {
        const header = layout.headerOf(payload)
        open = { type: typeOf(header[0] ?? 0), pieces: [header] }
      }
      open?.pieces.push(payload.subarray(headerBytes + 1))
      if (open !== undefined && (place & FRAGMENT_END) !== 0) {
        nals.push(open)
        open = undefined
      }
    }
    return nals
  }

export const depacketizeH264: Depacketize = depacketizer(RTP_LAYOUTS.H264)
export const depacketizeH265: Depacketize = depacketizer(RTP_LAYOUTS.H265)
