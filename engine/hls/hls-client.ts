import type { IncomingMessage } from 'node:http'
import { type Address, parseAddress, sameServer } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { requestFault, statusFault } from '../faults/network-faults.ts'
import { AddressDenied, get } from '../fetch/get.ts'
import { Authorizer } from '../rtsp/client/authorizer.ts'
import { CookieJar } from './cookie-jar.ts'
import type { ByteRange } from './playlist.ts'
import { mayName } from './reachable.ts'

/** Redirects and the answer to a 401. */
const MAX_REQUESTS = 6
const SCHEMES: ReadonlySet<string> = new Set(['http', 'https'])

/** What came from an address. */
export interface Fetched {
  readonly bytes: Buffer
  /** The final address after redirects. */
  readonly address: Address
  /** The IP address that it came from. */
  readonly ip: string
}

export interface Wanted {
  /** Absolute, or relative to the playlist that names it. */
  readonly uri: string
  readonly range?: ByteRange | undefined
  readonly maxBytes: number
  readonly timeoutMs: number
}

/** Requests what playlists name: with the credentials and cookies of a server for that server alone, and within reach of the playlist. */
export class HlsClient {
  /** The address of the source, with its credentials. */
  readonly #source: Address
  readonly #signal: AbortSignal
  readonly #cookies = new CookieJar()
  readonly #authorizers = new Map<string, Authorizer>()

  constructor(source: Address, signal: AbortSignal) {
    this.#source = source
    this.#signal = signal
  }

  /** Throws Fault; the reason of the signal when that aborts. */
  async fetch({ uri, range, maxBytes, timeoutMs }: Wanted, playlist: Pick<Fetched, 'address' | 'ip'>): Promise<Fetched> {
    const deadline = AbortSignal.any([this.#signal, AbortSignal.timeout(timeoutMs)])
    const start = resolveUri(uri, playlist.address)
    const source = start.shown
    try {
      const { response, address } = await this.#request(start, { range, deadline, playlistIp: playlist.ip })
      const fault = statusFault(response.statusCode ?? 0, address.shown, address.user !== undefined)
      if (fault !== undefined) {
        response.destroy()
        throw fault
      }
      const ip = response.socket.remoteAddress ?? ''
      const bytes = await readBody(response, { range, maxBytes, deadline, shown: source })
      return { bytes, address, ip }
    } catch (error) {
      if (error instanceof AddressDenied) {
        throw new Fault('source_error', `${playlist.address.shown} names ${source}, an address inside of a network from outside of it.`, {
          cause: error,
        })
      }
      throw requestFault(error, { source, protocol: 'HTTP', signal: this.#signal, deadline, timeoutMs })
    }
  }

  async #request(
    start: Address,
    { range, deadline, playlistIp }: { readonly range: ByteRange | undefined; readonly deadline: AbortSignal; readonly playlistIp: string },
  ): Promise<{ readonly response: IncomingMessage; readonly address: Address }> {
    let address = start
    let repeated = false
    for (let requests = 1; ; requests += 1) {
      const known = this.#withCredentials(address)
      const response = await get(known, {
        authorization: this.#authorizer(known)?.header('GET', known.path),
        cookie: this.#cookies.header(known),
        range: range && `bytes=${range.offset}-${range.offset + range.length - 1}`,
        allows: (ip) => mayName(playlistIp, ip),
        signal: deadline,
      })
      this.#cookies.store(known, response.headers['set-cookie'] ?? [])
      const { location, 'www-authenticate': challenge = '' } = response.headers
      const status = response.statusCode ?? 0
      const isLast = requests >= MAX_REQUESTS
      const isAnswered: boolean = status === 401 && !repeated && !isLast && this.#authorizer(known)?.challenge([challenge]) === true
      const isRedirect = status >= 300 && status < 400 && location !== undefined
      if (!isAnswered && !isRedirect) return { response, address: known }
      response.destroy()
      if (isLast) throw new Fault('source_error', `${start.shown} redirects too often.`)
      if (isRedirect) address = resolveUri(location, known)
      repeated = isAnswered
    }
  }

  #withCredentials(address: Address): Address {
    const { user, password } = this.#source
    return address.user === undefined && user !== undefined && sameServer(address, this.#source) ? { ...address, user, password } : address
  }

  #authorizer({ scheme, host, port, user, password = '' }: Address): Authorizer | undefined {
    if (user === undefined) return undefined
    const key = JSON.stringify([scheme, host, port, user, password])
    const authorizer = this.#authorizers.get(key) ?? new Authorizer({ user, password })
    if (this.#authorizers.size < 20) this.#authorizers.set(key, authorizer)
    return authorizer
  }
}

/** Fault unsupported for another scheme than HTTP. */
const resolveUri = (uri: string, from: Address): Address => {
  const address = URL.canParse(uri, from.bare) ? parseAddress(new URL(uri, from.bare).href) : undefined
  if (address === undefined || !SCHEMES.has(address.scheme))
    throw new Fault('unsupported', `${from.shown} names an address that is not HTTP.`)
  return address
}

interface BodyLimits {
  readonly range?: ByteRange | undefined
  readonly maxBytes: number
  readonly deadline: AbortSignal
  readonly shown: string
}

/** A body of unknown length: it grows by doubling. */
const FIRST_BYTES = 64 * 1024

/** Throws Fault source_error for more than `maxBytes`. Copies each part as it comes, since all at once would take long. */
export const readBody = async (response: IncomingMessage, { range, maxBytes, deadline, shown }: BodyLimits): Promise<Buffer> => {
  const known = range?.length ?? Number(response.headers['content-length'] ?? FIRST_BYTES)
  let body = Buffer.allocUnsafe(Math.min(known, maxBytes) || FIRST_BYTES)
  let length = 0
  // A server that does not know ranges sends the whole.
  const skip = range !== undefined && response.statusCode === 200 ? range.offset : 0
  const most = Math.min(maxBytes, range?.length ?? maxBytes)
  const [from, to] = [skip, skip + most]
  let bytes = 0
  const onAbort = (): void => void response.destroy(deadline.reason)
  deadline.addEventListener('abort', onAbort)
  if (deadline.aborted) onAbort()
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      const start = bytes
      bytes += part.length
      if (range === undefined && bytes > maxBytes) throw new Fault('source_error', `${shown} is larger than ${maxBytes / 2 ** 20} MiB.`)
      const wanted = part.subarray(Math.max(from - start, 0), Math.max(to - start, 0))
      if (length + wanted.length > body.length) body = Buffer.concat([body], 2 * (length + wanted.length))
      length += wanted.copy(body, length)
      if (range !== undefined && bytes >= to) break
    }
  } finally {
    deadline.removeEventListener('abort', onAbort)
    response.destroy()
  }
  return body.subarray(0, length)
}
