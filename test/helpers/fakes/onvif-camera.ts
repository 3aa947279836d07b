import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const USER = { user: 'viewer', password: 'p<w>&"d' }
/** The clock of the camera is this far ahead, milliseconds: it refuses tokens of other times. */
const AHEAD_MS = 7_200_000

interface CameraOptions {
  /** How it checks users: tokens of WS-Security, or Digest of HTTP. */
  readonly authentication?: 'token' | 'digest'
  /** Media 2 with H.265, or media alone. */
  readonly version?: 1 | 2
  /** What it names in its answers instead of its own host. */
  readonly otherHost?: string
  readonly listen?: string
  /** Answers probes in the network of this address too. */
  readonly discoveredAt?: string
  /** Answers every call itself. */
  readonly answer?: (response: ServerResponse) => void
}

const ENVELOPE = (body: string) =>
  `<?xml version="1.0"?>\n<!-- gSOAP --><SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope"><SOAP-ENV:Body>${body}</SOAP-ENV:Body></SOAP-ENV:Envelope>`
const FAULT = (code: string) =>
  ENVELOPE(
    `<SOAP-ENV:Fault><SOAP-ENV:Code><SOAP-ENV:Value>SOAP-ENV:Sender</SOAP-ENV:Value><SOAP-ENV:Subcode><SOAP-ENV:Value>ter:${code}</SOAP-ENV:Value></SOAP-ENV:Subcode></SOAP-ENV:Code><SOAP-ENV:Reason><SOAP-ENV:Text xml:lang="en">${code}</SOAP-ENV:Text></SOAP-ENV:Reason></SOAP-ENV:Fault>`,
  )

const part = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? ''

/** WS-Security UsernameToken Profile 1.0. */
const hasToken = (envelope: string): boolean => {
  const [nonce, created, digest] = [/<w:Nonce[^>]*>([^<]*)/, /<u:Created[^>]*>([^<]*)/, /<w:Password[^>]*>([^<]*)/].map((each) =>
    part(envelope, each),
  )
  const expected = createHash('sha1')
    .update(Buffer.from(nonce ?? '', 'base64'))
    .update(`${created}${USER.password}`)
    .digest('base64')
  return digest === expected && Math.abs(Date.parse(created ?? '') - Date.now() - AHEAD_MS) < 60_000
}

const NONCE = 'c0ffee'
const md5 = (text: string): string => createHash('md5').update(text).digest('hex')

/** RFC 2617 with qop=auth. */
const hasDigest = ({ headers: { authorization = '' }, url }: IncomingMessage): boolean => {
  const of = (name: string) => part(authorization, new RegExp(`\\b${name}="?([^",]*)`))
  const secret = md5(`${USER.user}:cam:${USER.password}`)
  return of('response') === md5(`${secret}:${NONCE}:${of('nc')}:${of('cnonce')}:auth:${md5(`POST:${url}`)}`)
}

const profile2 = (token: string, name: string, codec: string, width: number, height: number) =>
  `<tr2:Profiles token="${token}" fixed="true"><tr2:Name>${name}</tr2:Name><tr2:Configurations><tr2:VideoEncoder token="v"><tt:Encoding>${codec}</tt:Encoding><tt:Resolution><tt:Width>${width}</tt:Width><tt:Height>${height}</tt:Height></tt:Resolution><tt:RateControl><tt:FrameRateLimit>25</tt:FrameRateLimit><tt:BitrateLimit>4096</tt:BitrateLimit></tt:RateControl></tr2:VideoEncoder><tr2:AudioEncoder token="a"><tt:Encoding>AAC</tt:Encoding></tr2:AudioEncoder></tr2:Configurations></tr2:Profiles>`
const profile1 = (token: string, name: string) =>
  `<trt:Profiles token="${token}"><tt:Name>${name}</tt:Name><tt:VideoEncoderConfiguration token="v"><tt:Encoding>H264</tt:Encoding><tt:Resolution><tt:Width>640</tt:Width><tt:Height>360</tt:Height></tt:Resolution></tt:VideoEncoderConfiguration></trt:Profiles>`

/** A camera that speaks ONVIF over HTTP and, in a network, WS-Discovery. Close it with the answered function. */
export const startOnvifCamera = async (options: CameraOptions = {}) => {
  const { authentication = 'token', version = 2, listen = '127.0.0.1', discoveredAt } = options
  const calls: string[] = []
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, listen)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const host = options.otherHost ?? listen
  const at = (path: string) => `http://${host}:${port}${path}`
  const answers: Readonly<Record<string, (envelope: string) => string | undefined>> = {
    GetSystemDateAndTime: () => {
      const now = new Date(Date.now() + AHEAD_MS)
      return `<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:UTCDateTime><tt:Time><tt:Hour>${now.getUTCHours()}</tt:Hour><tt:Minute>${now.getUTCMinutes()}</tt:Minute><tt:Second>${now.getUTCSeconds()}</tt:Second></tt:Time><tt:Date><tt:Year>${now.getUTCFullYear()}</tt:Year><tt:Month>${now.getUTCMonth() + 1}</tt:Month><tt:Day>${now.getUTCDate()}</tt:Day></tt:Date></tt:UTCDateTime></tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>`
    },
    GetDeviceInformation: () =>
      '<tds:GetDeviceInformationResponse><tds:Manufacturer>Acme &amp; Co</tds:Manufacturer><tds:Model><![CDATA[<M1>]]></tds:Model><tds:FirmwareVersion>1.2</tds:FirmwareVersion></tds:GetDeviceInformationResponse>',
    GetServices: () =>
      version === 1
        ? undefined
        : `<tds:GetServicesResponse><tds:Service><tds:Namespace>http://www.onvif.org/ver10/media/wsdl</tds:Namespace><tds:XAddr>${at('/media')}</tds:XAddr></tds:Service><tds:Service><tds:Namespace>http://www.onvif.org/ver20/media/wsdl</tds:Namespace><tds:XAddr>${at('/media2')}</tds:XAddr></tds:Service></tds:GetServicesResponse>`,
    GetCapabilities: () =>
      `<tds:GetCapabilitiesResponse><tds:Capabilities><tt:Media><tt:XAddr>${at('/media')}</tt:XAddr></tt:Media></tds:Capabilities></tds:GetCapabilitiesResponse>`,
    GetProfiles: (envelope) =>
      envelope.includes('ver20')
        ? `<tr2:GetProfilesResponse>${profile2('p&amp;1', 'main', 'H265', 2560, 1440)}${profile2('p2', 'sub', 'H264', 640, 360)}${profile2('none', 'no video', 'H264', 1, 1)}</tr2:GetProfilesResponse>`
        : `<trt:GetProfilesResponse>${profile1('old', 'old')}</trt:GetProfilesResponse>`,
    GetStreamUri: (envelope) => {
      const token = part(envelope, /<ProfileToken>([^<]*)/).replace('&#38;', '&')
      if (token === 'none') return undefined
      const uri = `rtsp://${host}:554/${encodeURIComponent(token)}?a=1&amp;b=2`
      return version === 1
        ? `<trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>${uri}</tt:Uri></trt:MediaUri></trt:GetStreamUriResponse>`
        : `<tr2:GetStreamUriResponse><tr2:Uri>${uri}</tr2:Uri></tr2:GetStreamUriResponse>`
    },
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (options.answer !== undefined) return options.answer(response)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const envelope = Buffer.concat(chunks).toString()
    const name = part(envelope, /<s:Body><(\w+)/)
    calls.push(name)
    const isOpen = name === 'GetSystemDateAndTime'
    if (!isOpen && authentication === 'digest' && !hasDigest(request)) {
      const challenge = `Digest realm="cam", nonce="${NONCE}", qop="auth"`
      response.writeHead(401, { 'www-authenticate': challenge }).end()
    } else if (!isOpen && authentication === 'token' && !hasToken(envelope)) response.writeHead(400).end(FAULT('NotAuthorized'))
    else {
      const content = answers[name]?.(envelope)
      if (content === undefined) response.writeHead(500).end(FAULT('ActionNotSupported'))
      else response.writeHead(200, { 'content-type': 'application/soap+xml' }).end(ENVELOPE(content))
    }
  }
  const closeDiscovery = discoveredAt === undefined ? async () => {} : await answerProbes(discoveredAt, at('/onvif/device_service'))
  return {
    address: at('/onvif/device_service'),
    port,
    calls,
    close: async () => {
      await closeDiscovery()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Answers probes, and sends what no client may stumble over. */
const answerProbes = async (address: string, device: string): Promise<() => Promise<void>> => {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  const scopes = ['type/video_encoder', 'name/Front%20Gate', 'hardware/M1', 'location/north'].map(
    (scope) => `onvif://www.onvif.org/${scope}`,
  )
  const match = (endpoint: string, more: string) =>
    ENVELOPE(
      `<d:ProbeMatches><d:ProbeMatch><a:EndpointReference><a:Address>${endpoint}</a:Address></a:EndpointReference>${more}</d:ProbeMatch></d:ProbeMatches>`,
    )
  const messages = [
    '<a',
    '',
    ENVELOPE('<d:ProbeMatches/>'),
    ENVELOPE('<d:ProbeMatches><d:ProbeMatch/></d:ProbeMatches>'),
    match('urn:uuid:other', '<d:XAddrs>file:///etc/passwd not-an-address</d:XAddrs>'),
    `<!DOCTYPE x [<!ENTITY e "e">]>${ENVELOPE('&e;')}`,
    '<x>'.repeat(20_000),
    match('urn:uuid:1', `<d:Scopes>${scopes.join(' ')}</d:Scopes><d:XAddrs>https://10.255.255.1/x http://[fe80::1]/x ${device}</d:XAddrs>`),
    // An address of another host.
    match('urn:uuid:2', '<d:XAddrs>http://192.0.2.7:8000/onvif/device_service</d:XAddrs>'),
  ]
  socket.on('message', (message, { address: to, port }) => {
    if (message.includes('Probe')) for (const each of messages) socket.send(each, port, to)
  })
  socket.bind(3702, '239.255.255.250')
  await once(socket, 'listening')
  socket.addMembership('239.255.255.250', address)
  return async () => {
    socket.close()
    await once(socket, 'close')
  }
}
