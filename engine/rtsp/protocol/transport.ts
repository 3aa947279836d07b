/** The Transport header (RFC 2326 section 12.39): the transports that this server supports. */
export type TransportRequest =
  | { readonly kind: 'interleaved'; readonly channel: number | undefined }
  | { readonly kind: 'udp'; readonly rtpPort: number; readonly rtcpPort: number }

const parseRange = (text: string | undefined, most: number): readonly [number, number] | undefined => {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text ?? '')
  if (!match) return undefined
  const first = Number(match[1])
  const second = match[2] === undefined ? first + 1 : Number(match[2])
  return first > most || second > most ? undefined : [first, second]
}

const parseOne = (spec: string): TransportRequest | undefined => {
  const [protocol = '', ...rest] = spec.split(';').map((part) => part.trim())
  const parameters = new Map(rest.map((part) => [part.split('=', 1)[0]?.toLowerCase() ?? '', part.slice(part.indexOf('=') + 1)]))
  const mode = parameters.get('mode')?.replaceAll('"', '').toLowerCase()
  if (parameters.has('multicast') || (mode !== undefined && mode !== 'play')) return undefined
  if (/^RTP\/AVP\/TCP$/i.test(protocol)) {
    const channels = parseRange(parameters.get('interleaved'), 255)
    if (parameters.has('interleaved') && channels === undefined) return undefined
    return { kind: 'interleaved', channel: channels?.[0] }
  }
  if (!/^RTP\/AVP(?:\/UDP)?$/i.test(protocol)) return undefined
  const ports = parseRange(parameters.get('client_port'), 65535)
  // Ports below 1024 belong to system services, which a client could make this server flood.
  if (!ports || ports[0] < 1024 || ports[1] < 1024) return undefined
  return { kind: 'udp', rtpPort: ports[0], rtcpPort: ports[1] }
}

/** The first transport of the client's list that is unicast RTP over TCP, or UDP if it is allowed. `destination` is ignored. */
export const parseTransport = (header: string, udpAllowed = true): TransportRequest | undefined => {
  for (const spec of header.split(',', 8)) {
    const transport = parseOne(spec)
    if (transport && (udpAllowed || transport.kind !== 'udp')) return transport
  }
  return undefined
}
