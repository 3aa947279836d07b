import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An event as it arrived. */
export interface Arrival {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read events of many shapes
  readonly data: any
  readonly headers: IncomingMessage['headers']
  /** Whether the signature is that of the secret, by node:crypto. */
  readonly isSigned: boolean
  readonly taken: boolean
  /** performance.now() */
  readonly at: number
}

/** What a receiver does with an event: a status, or nothing at all. */
type Reaction = number | 'hang'

export interface WebhookReceiver {
  readonly url: string
  readonly port: number
  /** Every request so far. */
  readonly arrivals: Arrival[]
  /** Those that were answered 2xx. */
  taken(): readonly Arrival[]
  react: (arrival: Arrival) => Reaction
  close(): Promise<void>
}

export const WEBHOOK_SECRET = `whsec_${Buffer.from('a key of thirty-two bytes, exact').toString('base64')}`

/** Standard Webhooks, "Signature scheme": HMAC-SHA256 of id, timestamp and body. */
export const signatureOf = (key: Buffer, id: string, timestamp: string, body: string): string =>
  `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`

const keyOf = (secret: string): Buffer => (secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret))

/** A receiver of webhooks on this host. */
export const startWebhookReceiver = async ({ secret = WEBHOOK_SECRET, port = 0 } = {}): Promise<WebhookReceiver> => {
  const arrivals: Arrival[] = []
  const server = createServer((request, response) => void receive(request, response))
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = (await request.toArray()).join('')
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = request.headers
    const isSigned = signature === signatureOf(keyOf(secret), String(id), String(timestamp), body)
    const arrival = { id: String(id), ...JSON.parse(body), headers: request.headers, isSigned, at: performance.now() }
    const reaction = receiver.react(arrival)
    arrivals.push({ ...arrival, taken: reaction !== 'hang' && reaction >= 200 && reaction < 300 })
    if (reaction === 'hang') return
    response.writeHead(reaction, { 'content-length': 0, ...(reaction >= 300 && reaction < 400 && { location: '/elsewhere' }) }).end()
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: actual } = server.address() as AddressInfo
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${actual}/hook`,
    port: actual,
    arrivals,
    taken: () => arrivals.filter(({ taken }) => taken),
    react: () => 204,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  return receiver
}
