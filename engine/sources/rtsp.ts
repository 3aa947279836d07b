import type { Address } from '../faults/address.ts'
import { chain, makeElement } from '../gst/element.ts'
import { type Described, describeSource } from '../rtsp/client/describe-source.ts'
import { piped, tsdemux } from './demuxers.ts'
import { factsOfSdp } from './sdp-facts.ts'
import { type ParsedSource, type SourceFacts, type SourceKind, type SourceLine, UNKNOWN } from './source-kind.ts'

/** The facts of an RTSP source, and the connection over which it described itself: the caller closes it. Throws Fault. */
export const probeRtsp = async (
  address: Address,
  context: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<{ readonly described: Described; readonly facts: SourceFacts }> => {
  const described = await describeSource(address, context)
  try {
    return { described, facts: factsOfSdp(described.sdp, described.address) }
  } catch (error) {
    described.connection.close()
    throw error
  }
}

const line = ({ address, latency_ms }: ParsedSource, { video, program }: SourceFacts): SourceLine => {
  const { bare, user, password } = address
  const byHand = makeElement('rtspsrc', { location: bare, 'user-id': user, 'user-pw': password, latency: latency_ms, protocols: 'tcp' })
  if (video !== 'MP2T') return { tokens: piped(), byHand, ends: 'video', form: 'rtp' }
  const demuxer = tsdemux(program)
  const depaying = chain(byHand, makeElement('rtpmp2tdepay'), demuxer)
  return { tokens: chain(piped(), demuxer), byHand: depaying, ends: 'tracks', form: 'parsed', transport: 'piped' }
}

/** The engine reads it. A child has only what is piped to it. */
export const rtsp: SourceKind = {
  elements: {},
  confidential: true,
  probe: async ({ address }, context) => {
    const { described, facts } = await probeRtsp(address, context)
    described.connection.close()
    return facts
  },
  presume: () => ({ ...UNKNOWN, video: 'H264', klv: false }),
  line,
  reach: () => ({}),
}
