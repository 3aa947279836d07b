import { chain, type LaunchTokens, type MakeElement, makeElement } from '../gst/element.ts'
import { good } from '../gst/elements.ts'
import { FLV_SOUND, flvdemux, live, parsebin, piped, TRANSPORT_CAPS, transportLine, tsdemux } from './demuxers.ts'
import { type HttpFacts, probeHttp } from './http-probe.ts'
import { NETWORK, type ParsedSource, SILENCE_SECONDS, type SourceKind, type SourceLine, UNKNOWN } from './source-kind.ts'

const elements = { souphttpsrc: good('HTTP and HLS sources'), multipartdemux: good('MJPEG over HTTP') }
const element: MakeElement<keyof typeof elements> = makeElement

const line = ({ address: { bare, user, password } }: ParsedSource, facts: HttpFacts): SourceLine => {
  const { content, paced, body, segments } = facts
  const souphttpsrc = element('souphttpsrc', {
    location: bare,
    'user-id': user,
    'user-pw': password,
    'is-live': !paced,
    timeout: SILENCE_SECONDS,
    retries: 0,
  })
  if (body === undefined) return lineFrom(souphttpsrc, facts)
  const byHand = lineFrom(souphttpsrc, facts).tokens
  if (body.container?.format === 'mpegts' && body.container.pace === 'live')
    return { tokens: chain(piped(), tsdemux(facts.program)), byHand, ends: 'tracks', form: 'parsed', transport: 'piped' }
  const fdsrc = element('fdsrc', {
    // When flvdemux does not support a codec, only the source posts an error; bus-errors.ts recognizes it by this name.
    name: content === 'flv' ? 'flv' : undefined,
    fd: 0,
    blocksize: 65_536,
  })
  // Pictures alone have no times: the engine says when they came. Any other format carries its own.
  const input = body.caps === undefined ? chain(fdsrc, paced ? [] : live()) : piped()
  return { ...lineFrom(input, { ...facts, content: segments ?? content }), byHand }
}

const lineFrom = (receiver: LaunchTokens, facts: HttpFacts): SourceLine => {
  const { content, paced, program } = facts
  if (content === 'mpegts' && !paced) return transportLine(program, receiver, [TRANSPORT_CAPS])
  const soundPad = content === 'flv' ? { soundPad: FLV_SOUND } : {}
  if (content !== 'mjpeg') return { tokens: chain(receiver, demuxer(facts)), ends: 'tracks', form: 'parsed', ...soundPad }
  const tokens = chain(receiver, element('multipartdemux', { 'single-stream': true }), ['image/jpeg'])
  return { tokens, ends: 'video', form: 'parsed' }
}

const demuxer = (facts: HttpFacts): LaunchTokens => {
  if (facts.content === 'mpegts') return tsdemux()
  return facts.content === 'flv' ? flvdemux(facts) : parsebin()
}

export const http: SourceKind<HttpFacts> = {
  elements,
  confidential: true,
  probe: ({ address }, context) => probeHttp(address, context),
  presume: ({ address }) => {
    const isHls = /\.m3u8(?:\?|$)/.test(address.path)
    return { ...UNKNOWN, content: isHls ? 'hls' : 'other', paced: isHls }
  },
  line,
  // A child that reads what the engine fetches needs no network.
  reach: (_source, { body }) => (body === undefined ? NETWORK : {}),
}
