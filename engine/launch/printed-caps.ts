import { element, type LaunchTokens } from '../gst/element.ts'
import { parseRtpCaps, type RtpCaps } from '../rtp/caps.ts'
import type { PayloaderName } from './launch.ts'

/** The payloader of a launch line, or the element behind it; a bin has a ghost pad. */
const PRINTED = /:(?:vps-framed-)?(pay[01]|sound)\.Gst(?:Ghost)?Pad:(?:src|sink): caps = (.+)/

/**
 * Frames the RTP of a payloader (RFC 4571). `-v` prints the caps at its pad again: GLib loses the line of a pad when two threads of
 * gst-launch notify at the same time, about one of a hundred where two payloaders begin together.
 */
export const framed = (payloader: 'pay0' | 'pay1'): LaunchTokens => element('rtpstreampay', { name: `vps-framed-${payloader}` })

/** The caps of a payloader in a line that `gst-launch-1.0 -v` prints; undefined for any other line. */
export const printedCaps = (line: string): { readonly payloader: PayloaderName; readonly caps: RtpCaps } | undefined => {
  const [, name, text] = PRINTED.exec(line) ?? []
  const caps = text === undefined ? undefined : parseRtpCaps(text)
  return caps && { payloader: name === 'pay0' || name === 'sound' ? name : 'pay1', caps }
}
