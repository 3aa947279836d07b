import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node'
import { until } from '../until.ts'

export interface StoredEvent {
  readonly subject: string
  readonly messageId: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: tests read events of many shapes
  readonly message: any
}

/** A fleet as an independent client of its servers sees it. */
export interface FleetView {
  readonly connection: NatsConnection
  /** Stores the document of a host; answers its revision. */
  put(host: string, document: object | string): Promise<number>
  delete(host: string): Promise<void>
  // biome-ignore lint/suspicious/noExplicitAny: tests read states of many shapes
  actual(host: string): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  untilActual(host: string, holds: (state: any) => boolean, patienceMs?: number): Promise<any>
  /** Calls back with each state as it is published; answers a function that ends this. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  watchActual(host: string, onState: (state: any) => void): Promise<() => void>
  /** All events of a host in the order of the stream. */
  events(host: string): Promise<readonly StoredEvent[]>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  api(host: string, request: unknown): Promise<any>
  close(): Promise<void>
}

/** Connects with all rights; reconnects when the server is back. */
export const openFleetView = async (
  url: string,
  options: Pick<ConnectionOptions, 'user' | 'pass' | 'inboxPrefix' | 'tls' | 'authenticator'> = {},
): Promise<FleetView> => {
  const connection = await connect({ servers: url, ...options, reconnectTimeWait: 100, maxReconnectAttempts: -1 })
  // A read of a bucket that does not exist has no answer.
  const bucket = async (name: string) => new Kvm(jetstream(connection, { timeout: 500 })).open(name, { allow_direct: true })
  const actual = async (host: string) => {
    try {
      return (await (await bucket('vps-actual')).get(host))?.json()
    } catch {
      // The host has not created it yet, or the server is away.
      return undefined
    }
  }
  return {
    connection,
    put: async (host, document) =>
      (await new Kvm(jetstream(connection)).create('vps-desired')).put(
        host,
        typeof document === 'string' ? document : JSON.stringify(document),
      ),
    delete: async (host) => (await bucket('vps-desired')).delete(host),
    actual,
    watchActual: async (host, onState) => {
      const subscription = connection.subscribe(`$KV.vps-actual.${host}`, { callback: (_, message) => onState(message.json()) })
      await connection.flush()
      return () => subscription.unsubscribe()
    },
    untilActual: (host, holds, patienceMs) =>
      until(
        () => actual(host),
        (state) => state !== undefined && holds(state),
        patienceMs,
      ),
    events: async (host) => {
      const manager = await jetstreamManager(connection)
      const { state } = await manager.streams.info('VPS_EVENTS')
      const events: StoredEvent[] = []
      for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq += 1) {
        const stored = await manager.streams.getMessage('VPS_EVENTS', { seq })
        if (stored?.subject.startsWith(`vps.events.${host}.`) !== true) continue
        events.push({ subject: stored.subject, messageId: stored.header?.get('Nats-Msg-Id'), message: stored.json() })
      }
      return events
    },
    api: async (host, request) => (await connection.request(`vps.api.${host}`, JSON.stringify(request), { timeout: 10_000 })).json(),
    close: () => connection.close(),
  }
}
