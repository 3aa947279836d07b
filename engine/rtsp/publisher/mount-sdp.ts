import { frameRateHint } from '../../mount/frame-rate-hint.ts'
import type { MountPoint } from '../../mount/mount-point.ts'
import type { RtpCaps } from '../../rtp/caps.ts'
import type { RtpStream } from '../../rtp/stream.ts'
import { formatSdp, type SdpAttribute } from '../protocol/sdp.ts'

const TRACK = /^stream=(\d{1,2})$/

/** The control attribute of a mount's stream. */
export const trackControl = (at: number): string => `stream=${at}`

/** The mount's stream that the last part of a control URL names. */
export const trackOf = (control: string): number | undefined => {
  const match = TRACK.exec(control)
  return match ? Number(match[1]) : undefined
}

/** The session description of a mount (RFC 2326 appendix C), undefined while the caps of its first stream are not known. */
export const mountSdp = (mount: MountPoint, host: string): string | undefined => {
  const { streams } = mount.options
  return streams[0]?.caps === undefined ? undefined : streamsSdp(streams, { host, name: mount.path, range: 'npt=now-' })
}

/** The session description of streams; one whose caps are not known is left out. */
export const streamsSdp = (
  streams: readonly (RtpStream | undefined)[],
  { host, name, range }: { readonly host: string; readonly name: string; readonly range?: string },
): string => {
  const media = streams.flatMap((stream, at) => {
    const caps = stream?.caps
    if (stream === undefined || caps === undefined) return []
    const attributes = [...capsToSdpAttributes(frameRateHint(stream).describe(caps)), { name: 'control', value: trackControl(at) }]
    return [{ type: caps.media, port: 0, protocol: 'RTP/AVP', formats: [String(caps.payload)], attributes }]
  })
  const attributes = [{ name: 'control', value: '*' }, ...(range === undefined ? [] : [{ name: 'range', value: range }])]
  return formatSdp({ sessionId: String(streams[0]?.ssrc), host, name, attributes, media })
}

/** Caps fields that are not format parameters: those of the pad, and those in `a=rtpmap`. */
const NOT_IN_FMTP = new Set([
  'ssrc',
  'clock-base',
  'seqnum-base',
  'timestamp-offset',
  'seqnum-offset',
  'npt-start',
  'npt-stop',
  'play-speed',
  'play-scale',
  'onvif-mode',
  'encoding-params',
  'framerate',
  'profile',
  'level',
])
const NOT_IN_FMTP_PREFIX = /^(?:a-|x-|rtcp-fb-|ssrc-|extmap-|srtp-|srtcp-|mid$)/

/** The `a=` lines of a media: rtpmap, fmtp, and caps fields named `a-…`, mapped as gst_sdp_media_set_media_from_caps of GStreamer does. */
export const capsToSdpAttributes = (caps: RtpCaps): readonly SdpAttribute[] => {
  const channels = caps.parameters.get('encoding-params')
  const parameters = [...caps.parameters].filter(([name]) => !NOT_IN_FMTP.has(name) && !NOT_IN_FMTP_PREFIX.test(name))
  const fmtp = parameters.map(([name, value]) => (value === '' ? name : `${name}=${value}`)).join(';')
  const attributes = [...caps.parameters].filter(([name]) => name.startsWith('a-'))
  const extensions = [...caps.parameters].filter(([name]) => name.startsWith('extmap-'))
  return [
    { name: 'rtpmap', value: `${caps.payload} ${caps.encodingName}/${caps.clockRate}${channels ? `/${channels}` : ''}` },
    ...(fmtp ? [{ name: 'fmtp', value: `${caps.payload} ${fmtp}` }] : []),
    ...attributes.map(([name, value]) => ({ name: name.slice(2), value })),
    ...extensions.map(([name, value]) => ({ name: 'extmap', value: `${name.slice(7)} ${value}` })),
  ]
}
