import { isListener, streamAddressOf } from '../../lib/uri/stream-address.ts'
import { parseAddress } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { toArguments } from '../gst/element.ts'
import type { Reach } from '../sandbox/sandbox.ts'
import { type PushMedia, type PushScheme, pushScheme } from './schemes.ts'

/** A child that sends the MPEG-TS or FLV that it reads from its stdin to a receiver. */
export interface PushLine extends Pick<PushScheme, 'catchUp' | 'tls' | 'faults' | 'flv' | 'klv' | 'sound'> {
  readonly args: readonly string[]
  readonly reach: Reach
  /** It waits for receivers, so nobody there is no fault. */
  readonly listens: boolean
}

/** Whether the engine itself sends to this address, over RTSP. The receiver has a track for KLV then, which it may refuse. */
export const isSentByEngine = (uri: string): boolean => pushScheme(streamAddressOf(uri).scheme) === 'engine'

/** Whether any client may get the video: a listener without a passphrase. */
export const isOpenListener = (uri: string): boolean => {
  const receiver = streamAddressOf(uri)
  return isListener(receiver) && (receiver.query.get('passphrase') ?? '') === ''
}

/** The `gst-launch-1.0` line that sends to the receiver. Fault unsupported when the address is malformed or no child sends to it. */
export const pushLine = (uri: string, media: PushMedia): PushLine => {
  const address = parseAddress(uri)
  const scheme = pushScheme(address.scheme)
  if (scheme === undefined || scheme === 'engine') throw new Fault('unsupported', `Pushes over ${address.scheme}:// are not supported.`)
  const { line, reach, ...columns } = scheme
  return { ...columns, args: ['--', ...toArguments(line(address, media))], reach: reach(address), listens: isListener(address) }
}
