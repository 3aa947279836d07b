import { isListener, streamAddressOf } from '../../lib/uri/stream-address.ts'
import { parseAddress } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { toArguments } from '../gst/element.ts'
import type { Reach } from '../sandbox/sandbox.ts'
import { type PushMedia, type PushScheme, pushScheme } from './schemes.ts'

/** A child that sends the MPEG-TS that it reads from its stdin to a receiver. */
export interface PushLine extends Pick<PushScheme, 'catchUp' | 'tls' | 'begins' | 'faults'> {
  readonly args: readonly string[]
  readonly reach: Reach
  /** It waits for receivers, so nobody there is no fault. */
  readonly listens: boolean
  /** Whether KLV may be in the MPEG-TS. A demuxer whose tables change loses the track of the video, so that it gets KLV from the first or never. */
  readonly klv: boolean
}

/** Whether the receivers at this address have a track for KLV, which they may refuse. */
export const refusesKlv = (uri: string): boolean => pushScheme(streamAddressOf(uri).scheme)?.klv === 'track'

/** Whether any client may get the video: a listener without a passphrase. */
export const isOpenListener = (uri: string): boolean => {
  const receiver = streamAddressOf(uri)
  return isListener(receiver) && (receiver.query.get('passphrase') ?? '') === ''
}

/** The `gst-launch-1.0` line that sends to the receiver. Fault unsupported when the address is malformed or has no known scheme. */
export const pushLine = (uri: string, media: PushMedia): PushLine => {
  const address = parseAddress(uri)
  const scheme = pushScheme(address.scheme)
  if (scheme === undefined) throw new Fault('unsupported', `Pushes over ${address.scheme}:// are not supported.`)
  const { line, reach, klv, ...columns } = scheme
  return {
    ...columns,
    args: ['--', ...toArguments(line(address, media))],
    reach: reach(address),
    listens: isListener(address),
    klv: klv === 'track' ? media.klv : klv === 'inside',
  }
}
