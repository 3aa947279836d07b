import { capsToSdpAttributes } from '../../rtp/caps.ts'
import { formatSdp } from '../protocol/sdp.ts'
import type { MountPoint } from './mount.ts'

const TRACK = /^stream=(\d{1,2})$/

/** The control attribute of a mount's stream. */
export const trackControl = (at: number): string => `stream=${at}`

/** The mount's stream that a control URL's last part names. */
export const trackOf = (control: string): number | undefined => {
  const match = TRACK.exec(control)
  return match ? Number(match[1]) : undefined
}

/** The session description of a mount, undefined while the caps of its first stream are not known (RFC 2326 appendix C). */
export const mountSdp = (mount: MountPoint, host: string): string | undefined => {
  if (mount.options.streams[0]?.caps === undefined) return undefined
  const media = mount.options.streams.flatMap((stream, at) => {
    const caps = stream.caps
    if (caps === undefined) return []
    const attributes = [...capsToSdpAttributes(caps), { name: 'control', value: trackControl(at) }]
    return [{ type: caps.media, port: 0, protocol: 'RTP/AVP', formats: [String(caps.payload)], attributes }]
  })
  return formatSdp({
    sessionId: String(mount.options.streams[0].ssrc),
    host,
    name: mount.path,
    attributes: [
      { name: 'control', value: '*' },
      { name: 'range', value: 'npt=now-' },
    ],
    media,
  })
}
