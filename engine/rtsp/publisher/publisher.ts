import type { Socket } from 'node:net'
import { hostname } from 'node:os'
import { ClientAllowances } from '../../../lib/access/allowance.ts'
import { clientOf } from '../../../lib/access/client-of.ts'
import { ApiError } from '../../../lib/errors.ts'
import type { Clock, Log } from '../../../lib/ports.ts'
import { Tally } from '../../../lib/slots.ts'
import type { OutputAddress } from '../../../lib/uri/output-address.ts'
import { validationError } from '../../../lib/validate.ts'
import { DEFAULT_LIMITS, type PublisherLimits } from '../../mount/limits.ts'
import { type MountOptions, MountPoint, type MountStats } from '../../mount/mount-point.ts'
import { Authenticator, type ReaderCredentials } from '../access/authenticator.ts'
import type { CertificateFiles } from '../access/certificate.ts'
import { TlsFront } from '../access/tls-front.ts'
import { canonicalHost, covers, type ListenAddress, ListeningPorts } from './listening-ports.ts'
import { type ConnectionHost, ServerConnection } from './server-connection.ts'

interface PublisherOptions {
  readonly log: Log
  readonly clock?: Clock
  readonly limits?: Partial<PublisherLimits>
  /** Address for mounts at 0.0.0.0, which names none. */
  readonly host?: string
  /** With it every port speaks TLS as well, or only TLS. */
  readonly tls?: { readonly files: CertificateFiles; readonly required: boolean }
}

export interface Publication {
  /** Sessions that play or pause. */
  readonly readers: number
  readonly stats: MountStats
  /** For readers over other protocols than RTSP. */
  readonly point: MountPoint
  disconnectReaders(): void
  /** Disconnects the readers. After it resolves the port is free, unless another mount uses it. */
  close(): Promise<void>
}

export interface Publisher {
  /**
   * Publishes streams at an address. Rejects with ApiError: SERVICE_UNAVAILABLE (`reason: port_in_use`) when another program
   * uses the port, CONFLICT when the path is taken there, VALIDATION_ERROR when the host is not an address of this machine.
   */
  mount(address: OutputAddress, options: MountOptions): Promise<Publication>
  /** Readers need these credentials from now on, undefined for none. Disconnects all readers when they are new. */
  requireCredentials(credentials: ReaderCredentials | undefined): void
  readonly listening: readonly ListenAddress[]
  /** RTSP connections, with and without a session. */
  readonly connections: number
  close(): Promise<void>
}

const CHECK_INTERVAL_MS = 1_000
/** The cost of a new connection, as bytes of its address; with TLS, most of it is the signature of the handshake. */
const CONNECTION_BYTES = 512
const TLS_CONNECTION_BYTES = 4096
const ANY_HOST = '0.0.0.0'

/** `host`: the address to listen on, which may differ from the one of the output. */
const listenError = (error: unknown, { port, ...named }: OutputAddress, host: string): ApiError => {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'EADDRINUSE') {
    const message = `Port ${port} is used by another program. Choose another output port or stop that program.`
    return new ApiError('SERVICE_UNAVAILABLE', message, { reason: 'port_in_use' }, { cause: error })
  }
  if (host !== named.host && code !== 'EACCES') {
    const message = `The output cannot listen on ${host}. Set SVC_OUTPUT_HOST to an address of this machine.`
    return new ApiError('SERVICE_UNAVAILABLE', message, { reason: 'listen_failed' }, { cause: error })
  }
  if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT' || code === 'EINVAL')
    return validationError(
      'output address',
      [{ path: 'output.uri', message: `${host} is not an address of this machine. Use one, or 0.0.0.0` }],
      { reason: 'listen_failed' },
    )
  if (code === 'EACCES')
    return validationError('output address', [
      { path: 'output.uri', message: `This service may not open port ${port}. Choose another output port` },
    ])
  return new ApiError(
    'SERVICE_UNAVAILABLE',
    `The output port ${port} could not be opened. Choose another output port.`,
    { reason: 'listen_failed' },
    { cause: error },
  )
}

class RtspPublisher implements Publisher {
  readonly #host: ConnectionHost
  readonly #ports: ListeningPorts
  /** Outputs with the address 0.0.0.0 listen here. */
  readonly #anyHost: string
  readonly #tls: TlsFront | undefined
  readonly #authenticator: Authenticator
  /** All open connections, including those before their first byte or in their TLS handshake. */
  readonly #sockets = new Set<Socket>()
  readonly #connections = new Set<ServerConnection>()
  readonly #perAddress = new Tally()
  readonly #received: ClientAllowances
  readonly #mounts = new Set<MountPoint>()
  /** Runs while there are connections. */
  #checkTimer: NodeJS.Timeout | undefined
  #checkedMs = 0
  readonly #clock: Clock
  readonly #end = (point: MountPoint): Promise<void> => this.#unmount(point)
  #closed = false

  constructor(options: PublisherOptions) {
    this.#clock = options.clock ?? { now: () => Date.now() }
    this.#ports = new ListeningPorts((socket) => this.#accept(socket))
    const limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#anyHost = options.host ?? ANY_HOST
    this.#authenticator = new Authenticator({ log: options.log, failuresPerMinute: limits.failuresPerMinute })
    this.#received = new ClientAllowances(limits.receivedPerAddress)
    this.#tls = options.tls && this.#createTls(options.log, options.tls.files, limits)
    this.#host = {
      log: options.log,
      limits,
      authenticator: this.#authenticator,
      tlsRequired: options.tls?.required ?? false,
      now: () => this.#clock.now(),
      findMount: (localAddress, port, path) => this.#findMount(localAddress, port, path),
      mayOpenUdp: (client) => this.#mayOpenUdp(client),
      mayReceive: (client, bytes) => this.#received.use(client, bytes, performance.now()),
      onClose: (connection) => void this.#connections.delete(connection),
    }
  }

  get listening(): readonly ListenAddress[] {
    return this.#ports.addresses
  }

  get connections(): number {
    return this.#connections.size
  }

  async mount(address: OutputAddress, options: MountOptions): Promise<Publication> {
    if (this.#closed) throw new ApiError('SERVICE_UNAVAILABLE', 'The RTSP publisher is closed.')
    const at = { ...address, host: canonicalHost(address.host === ANY_HOST ? this.#anyHost : address.host) }
    if ([...this.#mounts].some((other) => clash(other, at)))
      throw new ApiError(
        'CONFLICT',
        `Another pipeline is published at port ${at.port} with the path ${at.path}. Choose another path or port.`,
        { reason: 'output_in_use' },
      )
    // The wall clock is read once: a step of it must not separate the times of the streams.
    const offset = this.#clock.now() - performance.now()
    const context = { cname: `${at.path}@${hostname()}`, wallMs: (ms: number) => ms + offset, reportMs: this.#host.limits.reportMs }
    const point = new MountPoint(at, options, context)
    this.#mounts.add(point)
    try {
      await this.#ports.claim(at)
    } catch (error) {
      point.close()
      this.#mounts.delete(point)
      throw listenError(error, address, at.host)
    }
    return new OwnedPublication(point, this.#end)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#checkTimer)
    await Promise.all([...this.#mounts].map((point) => this.#unmount(point)))
    for (const socket of this.#sockets) socket.destroy()
  }

  requireCredentials(credentials: ReaderCredentials | undefined): void {
    if (!this.#authenticator.require(credentials)) return
    const { size } = this.#connections
    if (size > 0) this.#host.log.info('readers_disconnected', { reason: 'credentials_changed', connections: size })
    for (const connection of [...this.#connections]) connection.disconnect()
  }

  async #unmount(point: MountPoint): Promise<void> {
    if (!this.#mounts.delete(point)) return
    point.close()
    for (const connection of this.#connections) if (connection.session?.mount === point) connection.destroy()
    await this.#ports.release(point, () => {
      for (const socket of this.#sockets) if (socket.localPort === point.port) socket.destroy()
    })
  }

  #findMount(localAddress: string, port: number, path: string): MountPoint | undefined {
    for (const point of this.#mounts) if (point.port === port && point.path === path && covers(point.host, localAddress)) return point
    return undefined
  }

  #accept(socket: Socket): void {
    const { connections, connectionsPerAddress } = this.#host.limits
    const client = clientOf(socket.remoteAddress)
    const cost = this.#tls === undefined ? CONNECTION_BYTES : TLS_CONNECTION_BYTES
    const mayConnect = this.#received.use(client, cost, performance.now())
    if (this.#sockets.size >= connections || this.#perAddress.of(client) >= connectionsPerAddress || !mayConnect || this.#closed) {
      socket.destroy()
      return
    }
    this.#sockets.add(socket)
    const release = this.#perAddress.add(client)
    socket.once('close', () => {
      this.#sockets.delete(socket)
      release()
    })
    if (this.#tls === undefined) this.#connect(socket)
    else this.#tls.accept(socket)
  }

  #connect(socket: Socket): void {
    this.#connections.add(new ServerConnection(socket, this.#host))
    if (this.#checkTimer !== undefined) return
    this.#checkedMs = performance.now()
    this.#checkTimer = setInterval(() => this.#checkLimits(), CHECK_INTERVAL_MS).unref()
  }

  #createTls(log: Log, files: CertificateFiles, { firstRequestMs }: PublisherLimits): TlsFront {
    return new TlsFront({ files, log, handshakeMs: firstRequestMs, onConnection: (socket) => this.#connect(socket) })
  }

  #mayOpenUdp(client: string): boolean {
    const { udpSessions, udpSessionsPerAddress } = this.#host.limits
    const open = [...this.#connections].filter(({ session }) => session?.transport === 'udp')
    return open.length < udpSessions && open.filter((connection) => connection.client === client).length < udpSessionsPerAddress
  }

  #checkLimits(): void {
    const nowMs = performance.now()
    const lateMs = nowMs - this.#checkedMs - CHECK_INTERVAL_MS
    this.#checkedMs = nowMs
    // The process stood still, as in a frozen container: first read what readers sent in the meantime.
    if (lateMs > CHECK_INTERVAL_MS) return
    for (const connection of this.#connections) connection.checkLimits(nowMs)
    if (this.#connections.size > 0) return
    clearInterval(this.#checkTimer)
    this.#checkTimer = undefined
  }
}

/** A class, since every output has one: a literal with getters takes 800 bytes more. */
class OwnedPublication implements Publication {
  readonly point: MountPoint
  readonly #end: (point: MountPoint) => Promise<void>

  constructor(point: MountPoint, end: (point: MountPoint) => Promise<void>) {
    this.point = point
    this.#end = end
  }

  get readers(): number {
    return this.point.readers
  }

  get stats(): MountStats {
    return this.point.stats
  }

  disconnectReaders(): void {
    this.point.disconnectReaders()
  }

  close(): Promise<void> {
    return this.#end(this.point)
  }
}

/** Whether one request could name both mounts. */
const clash = (one: ListenAddress & { readonly path: string }, other: ListenAddress & { readonly path: string }): boolean =>
  one.port === other.port && one.path === other.path && (covers(one.host, other.host) || covers(other.host, one.host))

/** The RTSP server of all mounts: several paths may share a port. Independent of pipelines. */
export const createPublisher = (options: PublisherOptions): Publisher => new RtspPublisher(options)
