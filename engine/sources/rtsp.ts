import { type Address, RTSPS_PORT, redirection } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { type MakeElement, makeElement } from '../gst/element.ts'
import { good } from '../gst/elements.ts'
import { type Described, describeSource } from '../rtsp/client/describe-source.ts'
import { TRACKS, transportLine } from './demuxers.ts'
import { factsOfSdp, type RtspFacts } from './sdp-facts.ts'
import { NETWORK, type ParsedSource, type ProbeContext, SILENCE_SECONDS, type SourceKind, type SourceLine, UNKNOWN } from './source-kind.ts'

const elements = { rtspsrc: good(), rtpmp2tdepay: good('MPEG-TS in RTSP') }
const element: MakeElement<keyof typeof elements> = makeElement

/** The facts of an RTSP source, and the connection over which it described itself: the caller closes it. Throws Fault. */
export const probeRtsp = async (
  address: Address,
  context: ProbeContext,
): Promise<{ readonly described: Described; readonly facts: RtspFacts }> => {
  const described = await describeSource(address, context)
  try {
    const facts = factsOfSdp(described.sdp, described.address, context.transport)
    return { described, facts: { ...facts, ...redirection(address, described.address) } }
  } catch (error) {
    described.connection.close()
    throw error
  }
}

const SECONDS_TO_MICROSECONDS = 1_000_000

// rtspsrc would use port 554 for rtsps as well.
const locationOf = (address: Address, scheme: string): string =>
  address.bare.replace(/^[a-z]+:\/\/[^/?]*/, (start) => {
    const authority = start.replace(/^[a-z]+/, scheme)
    return scheme === 'rtsps' && address.port === undefined ? `${authority}:${RTSPS_PORT}` : authority
  })

const oddProtocol = (protocol: string): Fault =>
  new Fault(
    'source_error',
    `The source describes its video as ${protocol}, which GStreamer does not take. The engine itself can read it: leave out encoding, and SVC_RTSP_READER=child. To re-encode it, use the output of such a pipeline as the source of another.`,
  )

const line = ({ address: named, latency_ms }: ParsedSource, facts: RtspFacts): SourceLine => {
  if (facts.oddProtocol !== undefined) throw oddProtocol(facts.oddProtocol)
  const address = facts.redirectedTo ?? named
  const insideTs = facts.video === 'MP2T'
  const secure = address.scheme === 'rtsps'
  const rtspsrc = element('rtspsrc', {
    name: insideTs ? undefined : TRACKS,
    location: locationOf(address, secure ? 'rtsps' : 'rtsp'),
    'user-id': address.user,
    'user-pw': address.user === undefined ? undefined : (address.password ?? ''),
    // The jitter buffer waits this long for a missing packet. drop-on-latency stays off: it would drop packets of a burst such as a key frame.
    latency: latency_ms,
    // rtspsrc tries UDP before TCP whatever the order here, and loses packets of key frames in small receive buffers.
    protocols: facts.transport,
    'tcp-timeout': SILENCE_SECONDS * SECONDS_TO_MICROSECONDS,
    timeout: 5 * SECONDS_TO_MICROSECONDS,
    'do-rtsp-keep-alive': true,
    // A server that closes the connection has ended the stream. rtspsrc would connect again and wait for packets that do not come.
    'udp-reconnect': facts.transport === 'udp' ? false : undefined,
    // Cameras sign their certificates themselves: TLS here keeps the stream private, and does not authenticate the camera.
    'tls-validation-flags': secure ? 'no-flags' : undefined,
  })
  if (insideTs) return transportLine(facts.program, rtspsrc, element('rtpmp2tdepay'))
  return { tokens: rtspsrc, ends: 'tracks', form: 'rtp' }
}

export const rtsp: SourceKind<RtspFacts> = {
  elements,
  confidential: true,
  probe: async ({ address }, context) => {
    const { described, facts } = await probeRtsp(address, context)
    described.connection.close()
    return facts
  },
  presume: () => ({ ...UNKNOWN, video: 'H264', transport: 'tcp' }),
  line,
  reach: () => NETWORK,
}
