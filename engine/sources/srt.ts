import { type MakeElement, makeElement } from '../gst/element.ts'
import { bad } from '../gst/elements.ts'
import { TRANSPORT_CAPS, transportLine } from './demuxers.ts'
import { NETWORK, type SourceKind, UNKNOWN, unprobed } from './source-kind.ts'

const elements = { srtsrc: bad('SRT sources') }
const element: MakeElement<keyof typeof elements> = makeElement

/** MPEG-TS over SRT. */
export const srt: SourceKind = {
  elements,
  confidential: true,
  ...unprobed(() => UNKNOWN),
  line: ({ address, latency_ms }, { program }) => ({
    ...transportLine(
      program,
      element('srtsrc', {
        uri: address.bare,
        latency: address.query.has('latency') ? undefined : latency_ms,
        // A lost connection ends the child with its cause; the engine reconnects with its own backoff.
        'auto-reconnect': false,
      }),
      [TRANSPORT_CAPS],
    ),
    // Nothing else reports a sender that libsrt refuses for its passphrase.
    debug: 'srtlib:2',
  }),
  reach: () => NETWORK,
}
