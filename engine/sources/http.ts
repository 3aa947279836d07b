import type { Address } from '../faults/address.ts'
import { chain, type LaunchTokens, type MakeElement, makeElement } from '../gst/element.ts'
import { good } from '../gst/elements.ts'
import { flvdemux, live, parsebin, piped, TRANSPORT_CAPS, transportLine, tsdemux } from './demuxers.ts'
import { type HttpFacts, probeHttp } from './http-probe.ts'
import { NETWORK, type ParsedSource, SILENCE_SECONDS, type SourceKind, type SourceLine, UNKNOWN } from './source-kind.ts'

const elements = { souphttpsrc: good('HTTP and HLS sources'), multipartdemux: good('MJPEG over HTTP') }
const element: MakeElement<keyof typeof elements> = makeElement

const line = ({ address: named }: ParsedSource, facts: HttpFacts): SourceLine => {
  const { content, paced, body, redirectedTo } = facts
  const address = redirectedTo ?? named
  const souphttpsrc = element('souphttpsrc', {
    location: content === 'hls' ? withCredentials(address) : address.bare,
    'user-id': address.user,
    'user-pw': address.password,
    // HLS too: otherwise gst-launch sets the state at each buffering message of hlsdemux2, and one during preroll may leave it paused.
    'is-live': !paced || content === 'hls',
    timeout: SILENCE_SECONDS,
    retries: 0,
    // The probe followed the redirects; souphttpsrc would send the credentials wherever another one leads.
    'automatic-redirect': address.user === undefined ? undefined : false,
  })
  if (body === undefined) return lineFrom(souphttpsrc, facts)
  const fdsrc = element('fdsrc', {
    // When flvdemux does not support a codec, only the source posts an error; bus-errors.ts recognizes it by this name.
    name: content === 'flv' ? 'flv' : undefined,
    fd: 0,
    blocksize: 65_536,
  })
  // Pictures alone have no times: the engine says when they came. Any other format carries its own.
  const input = body.caps === undefined ? chain(fdsrc, paced ? [] : live()) : piped()
  return { ...lineFrom(input, facts), byHand: lineFrom(souphttpsrc, facts).tokens }
}

const lineFrom = (receiver: LaunchTokens, { content, paced, program }: HttpFacts): SourceLine => {
  if (content === 'mpegts' && !paced) return transportLine(program, receiver, [TRANSPORT_CAPS])
  if (content !== 'mjpeg') return { tokens: chain(receiver, demuxer(content)), ends: 'tracks', form: 'parsed' }
  const tokens = chain(receiver, element('multipartdemux', { 'single-stream': true }), ['image/jpeg'])
  return { tokens, ends: 'video', form: 'parsed' }
}

/**
 * hlsdemux2 requests playlists and segments itself, and takes credentials only from the address of the playlist, to which relative
 * ones refer. libsoup sends them to no other host.
 */
const withCredentials = ({ bare, user, password = '' }: Address): string =>
  user === undefined ? bare : bare.replace('://', () => `://${encodeURIComponent(user)}:${encodeURIComponent(password)}@`)

const demuxer = (content: HttpFacts['content']): LaunchTokens => {
  if (content === 'mpegts') return tsdemux()
  return content === 'flv' ? flvdemux() : parsebin()
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
