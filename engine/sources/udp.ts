import { chain, makeElement } from '../gst/element.ts'
import { isMulticast, openDatagrams } from './datagrams.ts'
import { piped, tsdemux } from './demuxers.ts'
import { type SourceKind, UNKNOWN } from './source-kind.ts'

const LIVE = { format: 'mpegts', pace: 'live' } as const

/** MPEG-TS over UDP, which the engine reads. */
export const udp: SourceKind = {
  elements: {},
  confidential: true,
  probe: async ({ address }) => ({ ...UNKNOWN, body: { stream: await openDatagrams(address), container: LIVE } }),
  presume: () => UNKNOWN,
  line: ({ address: { host, port, query } }, { program }) => {
    const udpsrc = makeElement('udpsrc', {
      address: host,
      port: port ?? 1234,
      'multicast-iface': query.get('iface') ?? undefined,
      reuse: isMulticast(host) ? undefined : false,
    })
    const demuxer = tsdemux(program)
    return { tokens: chain(piped(), demuxer), byHand: chain(udpsrc, demuxer), ends: 'tracks', form: 'parsed', transport: 'piped' }
  },
  reach: () => ({}),
}
