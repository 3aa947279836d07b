import { type Client, createClient } from '../../../client/client.ts'
import { api } from '../api/api.ts'

/** A client of another host, whose requests go through this one and the fleet. It throws as the client of this host does. */
export const remoteOf = (host: string): Client => {
  const known = clients.get(host) ?? createClient({ url: '', fetch: (url, init) => relayed(host, url, init) })
  clients.set(host, known)
  return known
}

/** By name; as many as there are hosts. */
const clients = new Map<string, Client>()

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

type Method = NonNullable<Parameters<Client['callFleetHost']>[0]['body']['method']>

const relayed = async (host: string, url: string, { method, headers, body, signal }: RequestInit): Promise<Response> => {
  const { pathname, search } = new URL(url, location.origin)
  const sent = {
    method: method as Method,
    path: `${pathname}${search}`,
    headers: Object.fromEntries(new Headers(headers)),
    body: typeof body === 'string' ? JSON.parse(body) : null,
  }
  const answer = await api.callFleetHost({ host, body: sent, signal: signal ?? undefined })
  const { status } = answer
  return new Response(WITHOUT_BODY.has(status) ? null : contentOf(answer), { status, headers: answer.headers })
}

const contentOf = ({ body, encoding }: { readonly body: unknown; readonly encoding?: 'base64' | undefined }): BodyInit => {
  if (encoding === 'base64') return Uint8Array.from(atob(String(body)), (sign) => sign.charCodeAt(0))
  return typeof body === 'string' ? body : JSON.stringify(body)
}
