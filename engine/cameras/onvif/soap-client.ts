import { createHash, randomBytes } from 'node:crypto'
import { type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { Fault } from '../../faults/fault.ts'
import { requestFault, statusFault } from '../../faults/network-faults.ts'
import { hostAuthorities } from '../../fetch/host-authorities.ts'
import { Authorizer, type Credentials } from '../../rtsp/client/authorizer.ts'
import { escapeXml, find, parseXml, textAt, type XmlElement, XmlFault } from './xml.ts'

/** Of one answer; profiles of a camera with many have some 60 KB. */
const MAX_BYTES = 256 * 1024
const TIMEOUT_MS = 5000
/** Of all calls to a camera. */
const TOTAL_MS = 20_000

/** Nobody cancels a call. */
const NEVER = new AbortController().signal

/**
 * Calls the services of one camera over SOAP 1.2 (ONVIF Core Specification, section 5). It authenticates as cameras ask for it: by a
 * UsernameToken with a digest (WS-Security) in each call, and by Digest of HTTP after a 401.
 */
export class SoapClient {
  readonly #authorizer: Authorizer
  readonly #credentials: Credentials | undefined
  readonly #end = AbortSignal.timeout(TOTAL_MS)
  /** The clock of the camera minus the one of this host, milliseconds: it refuses tokens of another time. */
  #aheadMs = 0

  constructor(credentials: Credentials | undefined) {
    this.#credentials = credentials
    this.#authorizer = new Authorizer(credentials)
  }

  /** `cameraMs`: the present time of the camera, milliseconds since the epoch. */
  setClock(cameraMs: number): void {
    this.#aheadMs = cameraMs - Date.now()
  }

  /** The content of the body of the answer. Throws Fault unauthorized, unreachable, timeout, source_error. `isOpen`: the call needs no user. */
  async call(url: string, body: string, { isOpen = false } = {}): Promise<XmlElement> {
    const deadline = AbortSignal.any([this.#end, AbortSignal.timeout(TIMEOUT_MS)])
    const source = new URL(url).host
    const token = isOpen || this.#credentials === undefined ? '' : this.#token(this.#credentials)
    try {
      const envelope = envelopeOf(body, token)
      let answer = await this.#post(url, envelope, deadline)
      const challenges = answer.response.statusCode === 401 ? (answer.response.headersDistinct['www-authenticate'] ?? []) : []
      if (challenges.length > 0 && this.#authorizer.challenge(challenges)) answer = await this.#post(url, envelope, deadline)
      return this.#contentOf(answer, source)
    } catch (error) {
      if (error instanceof XmlFault) throw new Fault('source_error', `${source} answers no ONVIF (${error.message}). Check the address.`)
      throw requestFault(error, { source, protocol: 'HTTP', signal: NEVER, deadline, timeoutMs: TIMEOUT_MS })
    }
  }

  async #post(url: string, envelope: string, signal: AbortSignal) {
    const { pathname, search } = new URL(url)
    const authorization = this.#authorizer.header('POST', `${pathname}${search}`)
    const response = await post(url, envelope, authorization, signal)
    return { response, text: await readText(response) }
  }

  #contentOf({ response, text }: { readonly response: IncomingMessage; readonly text: string }, source: string): XmlElement {
    const status = response.statusCode ?? 0
    const hasCredentials = this.#credentials !== undefined
    const body = status === 401 ? undefined : find(parseXml(text === '' ? '<none/>' : text), 'Body')
    const fault = body === undefined ? undefined : find(body, 'Fault')
    if (status === 401 || isNotAuthorized(fault)) throw refused(source, hasCredentials)
    const content = body?.children[0]
    if (fault === undefined && content !== undefined && status < 300) return content
    const why = textAt(fault, 'Reason', 'Text')?.slice(0, 200)
    if (why !== undefined) throw new Fault('source_error', `${source} refuses the question: ${why}`)
    throw statusFault(status, source, hasCredentials) ?? new Fault('source_error', `${source} answers no ONVIF. Check the address.`)
  }

  /** WS-Security UsernameToken Profile 1.0, section 3.1: the digest is of nonce, time and password. */
  #token({ user, password }: Credentials): string {
    const nonce = randomBytes(16)
    const created = new Date(Date.now() + this.#aheadMs).toISOString()
    const digest = createHash('sha1').update(nonce).update(created).update(password).digest('base64')
    const security = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss'
    return (
      `<s:Header><w:Security xmlns:w="${security}-wssecurity-secext-1.0.xsd" s:mustUnderstand="1"><w:UsernameToken>` +
      `<w:Username>${escapeXml(user)}</w:Username>` +
      `<w:Password Type="${security}-username-token-profile-1.0#PasswordDigest">${digest}</w:Password>` +
      `<w:Nonce EncodingType="${security}-soap-message-security-1.0#Base64Binary">${nonce.toString('base64')}</w:Nonce>` +
      `<u:Created xmlns:u="${security}-wssecurity-utility-1.0.xsd">${created}</u:Created></w:UsernameToken></w:Security></s:Header>`
    )
  }
}

const envelopeOf = (body: string, header: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope">${header}<s:Body>${body}</s:Body></s:Envelope>`

/** ter:NotAuthorized, or the code of WS-Security, in a subcode at any depth (section 5.11.2). */
const isNotAuthorized = (fault: XmlElement | undefined): boolean => {
  for (let code = fault && find(fault, 'Code'); code !== undefined; code = find(code, 'Subcode'))
    if (/(?:NotAuthorized|FailedAuthentication)$/i.test(textAt(code, 'Value') ?? '')) return true
  return false
}

const refused = (source: string, hasCredentials: boolean): Fault =>
  new Fault(
    'unauthorized',
    hasCredentials
      ? `${source} refuses the user name or password. Correct them; some cameras have users of their own for ONVIF.`
      : `${source} requires a user name and password. Enter those of the camera.`,
  )

/** Resolves to the response, whose body waits. Follows no redirect. */
const post = (url: string, envelope: string, authorization: string | undefined, signal: AbortSignal): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const isTls = url.startsWith('https:')
    const sent = (isTls ? requestTls : request)(url, {
      method: 'POST',
      agent: false,
      signal,
      ...(isTls && { secureContext: hostAuthorities() }),
      maxHeaderSize: 16 * 1024,
      headers: {
        'content-type': 'application/soap+xml; charset=utf-8',
        'content-length': Buffer.byteLength(envelope),
        'user-agent': 'video-pipeline-service',
        ...(authorization !== undefined && { authorization }),
      },
    })
    sent.on('error', reject)
    // Without an error after an answer that is none to a POST: 101 Switching Protocols.
    sent.once('close', () => reject(new Error('The server answers no request')))
    sent.once('response', resolve)
    sent.end(envelope)
  })

const readText = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new XmlFault('too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
