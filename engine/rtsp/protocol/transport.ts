/** The Transport field (RFC 2326 section 12.39) of a request: the transports that this server supports. */
export type TransportRequest =
  | { readonly kind: 'interleaved'; readonly channel: number | undefined }
  | { readonly kind: 'udp'; readonly rtpPort: number; readonly rtcpPort: number }

/** Interleaved channels: of RTP, and of RTCP when there is one. */
export interface Channels {
  readonly rtp: number
  readonly rtcp: number | undefined
}

/** Where a server sends the packets of a track from. */
export interface ServerPorts {
  readonly rtp: number | undefined
  readonly rtcp: number | undefined
  /** Its address, where it is not the one of the connection. */
  readonly source: string | undefined
}

const MAX_TRANSPORTS = 8
const MAX_CHANNEL = 255
const MAX_PORT = 65_535
/** Ports below belong to system services, which a client could make this server flood. */
const MIN_PORT = 1024

/** One of the transports in the field. */
interface Transport {
  readonly protocol: string
  /** Names in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

const parseTransports = (field: string): readonly Transport[] =>
  field.split(',', MAX_TRANSPORTS).map((text) => {
    const [protocol = '', ...rest] = text.split(';').map((part) => part.trim())
    const parameters = rest.map(
      (part) => [part.split('=', 1)[0]?.trim().toLowerCase() ?? '', part.slice(part.indexOf('=') + 1).trim()] as const,
    )
    return { protocol: protocol.toUpperCase(), parameters: new Map(parameters) }
  })

/** `first-second` or `first`; undefined when it is neither, or out of range. */
const parseRange = (text: string | undefined, most: number): readonly [number, number | undefined] | undefined => {
  const match = /^(\d{1,5})(?:\s*-\s*(\d{1,5}))?$/.exec(text ?? '')
  const [first, second] = [Number(match?.[1] ?? Number.NaN), match?.[2] === undefined ? undefined : Number(match[2])]
  return first <= most && (second ?? 0) <= most ? [first, second] : undefined
}

const parseRequest = ({ protocol, parameters }: Transport): TransportRequest | undefined => {
  const mode = parameters.get('mode')?.replaceAll('"', '').toLowerCase()
  if (parameters.has('multicast') || (mode !== undefined && mode !== 'play')) return undefined
  if (protocol === 'RTP/AVP/TCP') {
    const channels = parseRange(parameters.get('interleaved'), MAX_CHANNEL)
    return parameters.has('interleaved') && channels === undefined ? undefined : { kind: 'interleaved', channel: channels?.[0] }
  }
  if (protocol !== 'RTP/AVP' && protocol !== 'RTP/AVP/UDP') return undefined
  const [rtpPort = 0, rtcpPort = rtpPort + 1] = parseRange(parameters.get('client_port'), MAX_PORT) ?? []
  return rtpPort < MIN_PORT || rtcpPort < MIN_PORT || rtcpPort > MAX_PORT ? undefined : { kind: 'udp', rtpPort, rtcpPort }
}

/** The first transport of the client's list that is unicast RTP over TCP, or UDP if it is allowed. `destination` is ignored. */
export const parseTransport = (field: string, udpAllowed = true): TransportRequest | undefined =>
  parseTransports(field)
    .map(parseRequest)
    .find((transport) => transport !== undefined && (udpAllowed || transport.kind === 'interleaved'))

/** The channels in the field of a response; `asked` when it names none; undefined for another transport than TCP. */
export const parseChannels = (field: string | undefined, asked: Channels): Channels | undefined => {
  const [{ protocol = '', parameters = new Map<string, string>() } = {}] = parseTransports(field ?? '')
  if (!parameters.has('interleaved')) return protocol === '' || /^RTP\/AVPF?\/TCP$/.test(protocol) ? asked : undefined
  const [rtp, rtcp] = parseRange(parameters.get('interleaved'), MAX_CHANNEL) ?? []
  return rtp === undefined ? asked : { rtp, rtcp: rtcp === rtp ? undefined : rtcp }
}

/** The ports in the field of a response; undefined for another transport than unicast RTP over UDP. */
export const parseServerPorts = (field: string | undefined): ServerPorts | undefined => {
  const [{ protocol = '', parameters = new Map<string, string>() } = {}] = parseTransports(field ?? '')
  if (!/^RTP\/AVPF?(?:\/UDP)?$/.test(protocol) || parameters.has('multicast') || parameters.has('interleaved')) return undefined
  const [rtp, rtcp] = parseRange(parameters.get('server_port'), MAX_PORT) ?? []
  return { rtp, rtcp, source: parameters.get('source') }
}
