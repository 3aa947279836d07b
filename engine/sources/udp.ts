import { type MakeElement, makeElement } from '../gst/element.ts'
import { good } from '../gst/elements.ts'
import { TRANSPORT_CAPS, transportLine } from './demuxers.ts'
import { NETWORK, type SourceKind, UNKNOWN, unprobed } from './source-kind.ts'

const elements = { udpsrc: good('UDP sources') }
const element: MakeElement<keyof typeof elements> = makeElement

/** RFC 5771, RFC 4291 section 2.7. */
const isMulticast = (host: string): boolean => /^(?:22[4-9]|23\d)\.|^ff[0-9a-f]{2}:/i.test(host)

/** MPEG-TS over UDP. */
export const udp: SourceKind = {
  elements,
  confidential: true,
  ...unprobed(() => UNKNOWN),
  line: ({ address: { host, port, query } }, { program }) =>
    transportLine(
      program,
      element('udpsrc', {
        address: host,
        port: port ?? 1234,
        'multicast-iface': query.get('iface') ?? undefined,
        // A group may have several receivers. A packet to one host goes to only one of the sockets that share its port.
        reuse: isMulticast(host) ? undefined : false,
        // Holds a 4K access unit that arrives as a burst at 1 Gbit/s; net.core.rmem_max is the upper limit.
        'buffer-size': 4 * 1024 * 1024,
        caps: TRANSPORT_CAPS,
      }),
    ),
  reach: () => NETWORK,
}
