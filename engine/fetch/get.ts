import { type LookupOptions, lookup } from 'node:dns'
import { type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Address } from '../faults/address.ts'
import { hostAuthorities } from './host-authorities.ts'

interface GetOptions {
  readonly authorization?: string | undefined
  readonly cookie?: string | undefined
  /** The Range field. */
  readonly range?: string | undefined
  /** Whether an IP address may be connected to; any may, unless it is given. */
  readonly allows?: ((ip: string) => boolean) | undefined
  /** Ends waiting for the response. */
  readonly signal: AbortSignal
}

/** No address of the host may be connected to. */
export class AddressDenied extends Error {}

/** Sends GET; the body of the response waits. Rejects with AddressDenied, and with the socket's error. */
export const get = (address: Address, { authorization, cookie, range, allows, signal }: GetOptions): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    // The class URL reads other notations of an IP address as node:http does.
    const host = new URL(address.bare).hostname.replace(/^\[|\]$/g, '')
    if (allows !== undefined && isIP(host) !== 0 && !allows(host)) return reject(new AddressDenied())
    const send = address.scheme === 'https' ? requestTls : request
    const sent = send(address.bare, {
      method: 'GET',
      agent: false,
      ...(address.scheme === 'https' && { secureContext: hostAuthorities() }),
      ...(allows !== undefined && { lookup: lookupAllowed(allows) }),
      maxHeaderSize: 16 * 1024,
      headers: {
        accept: '*/*',
        'user-agent': 'video-pipeline-service',
        ...(authorization !== undefined && { authorization }),
        ...(cookie !== undefined && { cookie }),
        ...(range !== undefined && { range }),
      },
    })
    const onAbort = (): void => void sent.destroy(signal.reason)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    sent.on('error', reject)
    // Without an error after an answer that is none to a GET: 101 Switching Protocols.
    sent.once('close', () => reject(new Error('The server answers no request')))
    sent.once('response', (response) => {
      signal.removeEventListener('abort', onAbort)
      // Without anybody who reads it.
      response.on('error', () => {})
      resolve(response)
    })
    sent.end()
  })

/** Finds only addresses that may be connected to, so that no name leads to another one. */
const lookupAllowed =
  (allows: (ip: string) => boolean): LookupFunction =>
  (name, options: LookupOptions, callback) => {
    lookup(name, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, [])
      const allowed = found.filter(({ address }) => allows(address))
      const [first] = allowed
      if (first === undefined) return callback(new AddressDenied(), [])
      if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
