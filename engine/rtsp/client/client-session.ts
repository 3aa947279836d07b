import type { HeaderFields } from '../protocol/format-message.ts'
import { parseRtpInfo, parseSession, type RtpStart, type SessionField } from '../protocol/header-fields.ts'
import type { RtspResponse } from '../protocol/message.ts'
import { attribute } from '../protocol/sdp.ts'
import { type Channels, parseChannels, parseServerPorts, type ServerPorts } from '../protocol/transport.ts'
import { ClosedEarly } from './client-connection.ts'
import { notUnderstood, refusal, transportRefused } from './client-faults.ts'
import { baseUrl, controlUrl } from './control-url.ts'
import { type Described, requestUrl } from './describe-source.ts'

/** The first request, and those after a challenge and a stale nonce. */
const MAX_TRIES = 3

/** A track of the session description, as the session needs it. */
interface SessionTrack {
  readonly control: string | undefined
  /** RTP/AVP, or RTP/AVPF. */
  readonly profile: string
}

/** Statuses of SETUP at a wrong address: some servers send a Content-Base under which they do not find their own tracks. */
const WRONG_ADDRESS = new Set([400, 404, 405, 451, 454, 459])

/** Statuses of PLAY from servers of live media that take no Range. */
const WRONG_RANGE = new Set([451, 456, 457])

/** One RTSP session as its client, over the connection of its description (RFC 2326). Requests are made one after the other. */
export class ClientSession {
  readonly #described: Described
  readonly #signal: AbortSignal
  #base: string
  #session: SessionField | undefined

  /** `signal` ends waiting for responses. */
  constructor(described: Described, signal: AbortSignal) {
    this.#described = described
    this.#signal = signal
    this.#base = baseUrl(described.base, requestUrl(described.address))
  }

  get established(): boolean {
    return this.#session !== undefined
  }

  /** Seconds after which the server ends the session without a request. */
  get timeoutSeconds(): number {
    return this.#session?.timeoutSeconds ?? 60
  }

  /** Sets up a track over TCP; returns the channels that the server uses. Throws Fault. */
  async setUp(track: SessionTrack, asked: Channels): Promise<Channels> {
    const field = await this.#setUp(track, 'TCP', `${track.profile}/TCP;unicast;interleaved=${asked.rtp}-${asked.rtcp}`)
    const channels = parseChannels(field, asked)
    if (channels === undefined) throw transportRefused(this.#described.address.shown, 'TCP')
    return channels
  }

  /** Sets up a track over UDP, to two ports of this host; returns where the server sends from. Throws Fault. */
  async setUpUdp(
    track: SessionTrack,
    { rtpPort, rtcpPort }: { readonly rtpPort: number; readonly rtcpPort: number },
  ): Promise<ServerPorts> {
    const ports = parseServerPorts(await this.#setUp(track, 'UDP', `${track.profile};unicast;client_port=${rtpPort}-${rtcpPort}`))
    if (ports === undefined) throw transportRefused(this.#described.address.shown, 'UDP')
    return ports
  }

  /** Returns the Transport field of the response. */
  async #setUp(track: SessionTrack, protocol: 'TCP' | 'UDP', transport: string): Promise<string | undefined> {
    const { address } = this.#described
    const send = (): Promise<RtspResponse> => this.send('SETUP', controlUrl(this.#base, track.control), { Transport: transport })
    let response = await send()
    if (WRONG_ADDRESS.has(response.status) && !this.established && this.#base !== requestUrl(address)) {
      this.#base = requestUrl(address)
      response = await send()
    }
    if (response.status === 461) throw transportRefused(address.shown, protocol)
    this.#require(response, 'SETUP')
    this.#session ??= parseSession(response.headers.get('session'))
    return response.headers.get('transport')
  }

  /** Starts the media; returns where each track begins, as far as the server states it. Throws Fault. */
  async play(): Promise<readonly RtpStart[]> {
    let response = await this.send('PLAY', this.#aggregate, { Range: 'npt=0.000-' })
    if (WRONG_RANGE.has(response.status)) response = await this.send('PLAY', this.#aggregate, {})
    this.#require(response, 'PLAY')
    return parseRtpInfo(response.headers.get('rtp-info'))
  }

  /** The start of a track in RTP-Info: by its URL, or by its position when there is one for each of the tracks. */
  startOf(tracks: readonly SessionTrack[], at: number, starts: readonly RtpStart[]): number | undefined {
    const control = tracks[at]?.control
    const url = controlUrl(this.#base, control)
    const named = starts.find((start) => start.url === url || (control !== undefined && start.url.endsWith(control)))
    return (named ?? (starts.length === tracks.length ? starts[at] : undefined))?.timestamp
  }

  /** Sets up a track over TCP that goes to the server, and returns its response. */
  async setUpToSend(control: string, { rtp, rtcp }: Channels): Promise<RtspResponse> {
    const transport = `RTP/AVP/TCP;unicast;interleaved=${rtp}-${rtcp};mode=record`
    const response = await this.send('SETUP', controlUrl(this.#base, control), { Transport: transport })
    if (response.status < 300) this.#session ??= parseSession(response.headers.get('session'))
    return response
  }

  /** Begins to send (RFC 2326 section 10.11); returns the response. */
  record(): Promise<RtspResponse> {
    return this.send('RECORD', this.#aggregate, { Range: 'npt=0.000-' })
  }

  /** Keeps the session alive. Rejects as ClientConnection.request does. */
  ping(method: 'OPTIONS' | 'GET_PARAMETER', deadline: AbortSignal): Promise<RtspResponse> {
    return this.send(method, this.#aggregate, {}, deadline)
  }

  /** Ends the session. Resolves when the server has answered or closed the connection, or after `deadline`. */
  async tearDown(deadline: AbortSignal): Promise<void> {
    if (this.established) await this.send('TEARDOWN', this.#aggregate, {}, deadline).catch(() => {})
  }

  /** Sends a request with session and credentials; repeated after a challenge. Throws Fault when the connection is closed during it. */
  async send(method: string, url: string, headers: HeaderFields, deadline = this.#signal, body?: string): Promise<RtspResponse> {
    const { connection, authorizer, address } = this.#described
    for (let tries = 1; ; tries += 1) {
      const all = { Session: this.#session?.id, Authorization: authorizer.header(method, url), ...headers }
      const response = await connection.request(method, url, all, deadline, body).catch((error: unknown) => {
        throw error instanceof ClosedEarly
          ? notUnderstood(address.shown, `it closed the connection instead of an answer to ${method}`, error)
          : error
      })
      if (response.status === 401 && tries < MAX_TRIES && authorizer.challenge(response.headers.all('www-authenticate'))) continue
      if (response.status < 300) authorizer.accepted()
      return response
    }
  }

  get #aggregate(): string {
    return controlUrl(this.#base, attribute(this.#described.sdp, 'control'))
  }

  #require({ status }: RtspResponse, method: string): void {
    const { address } = this.#described
    if (status < 200 || status >= 300) throw refusal(method, status, address.shown, address.user !== undefined)
  }
}
