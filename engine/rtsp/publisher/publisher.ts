import type { Socket } from 'node:net'
import { hostname } from 'node:os'
import { ApiError } from '../../../lib/errors.ts'
import type { Clock, Log } from '../../../lib/ports.ts'
import type { OutputAddress } from '../../../lib/schema/pipeline.ts'
import { validationError } from '../../../lib/validate.ts'
import { type ConnectionHost, RtspConnection } from './connection.ts'
import { DEFAULT_LIMITS, type PublisherLimits } from './limits.ts'
import { canonicalHost, covers, type ListenAddress, Listeners } from './listeners.ts'
import { type MountOptions, MountPoint, type MountStats } from './mount.ts'

interface PublisherOptions {
  readonly log: Log
  readonly clock?: Clock
  readonly limits?: Partial<PublisherLimits>
  /** The Server header. */
  readonly serverName?: string
}

export interface Mount {
  /** Sessions that play or pause. */
  readonly readers: number
  readonly stats: MountStats
  disconnectReaders(): void
  /** Disconnects the readers. After it resolves the port is free, unless another mount uses it. */
  close(): Promise<void>
}

export interface Publisher {
  /**
   * Publishes streams at an address. Rejects with ApiError: SERVICE_UNAVAILABLE (`reason: port_in_use`) when another program
   * uses the port, CONFLICT when the path is taken there, VALIDATION_ERROR when the host is not an address of this machine.
   */
  mount(address: OutputAddress, options: MountOptions): Promise<Mount>
  readonly listening: readonly ListenAddress[]
  /** RTSP connections, with and without a session. */
  readonly connections: number
  close(): Promise<void>
}

const CHECK_INTERVAL_MS = 1_000

const listenError = (error: unknown, { host, port }: OutputAddress): ApiError => {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'EADDRINUSE') {
    const message = `Port ${port} is used by another program. Choose another output port or stop that program.`
    return new ApiError('SERVICE_UNAVAILABLE', message, { reason: 'port_in_use' }, { cause: error })
  }
  if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT' || code === 'EINVAL')
    return validationError('output address', [
      { path: 'output.uri', message: `${host} is not an address of this machine. Use 0.0.0.0 for all addresses` },
    ])
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
  readonly #listeners: Listeners
  readonly #connections = new Set<RtspConnection>()
  readonly #perAddress = new Map<string, number>()
  readonly #mounts = new Set<MountPoint>()
  readonly #checkTimer: NodeJS.Timeout
  readonly #clock: Clock
  #closed = false

  constructor(options: PublisherOptions) {
    this.#clock = options.clock ?? { now: () => Date.now() }
    this.#listeners = new Listeners((socket) => this.#accept(socket))
    this.#host = {
      log: options.log,
      limits: { ...DEFAULT_LIMITS, ...options.limits },
      serverName: options.serverName ?? 'video-pipeline-service',
      now: () => this.#clock.now(),
      findMount: (localAddress, port, path) => this.#findMount(localAddress, port, path),
      mayOpenUdp: () => this.#udpSessions() < this.#host.limits.udpSessions,
      onClose: (connection) => this.#forget(connection),
    }
    this.#checkTimer = setInterval(() => this.#checkLimits(), CHECK_INTERVAL_MS)
    this.#checkTimer.unref()
  }

  get listening(): readonly ListenAddress[] {
    return this.#listeners.addresses
  }

  get connections(): number {
    return this.#connections.size
  }

  async mount(address: OutputAddress, options: MountOptions): Promise<Mount> {
    if (this.#closed) throw new ApiError('SERVICE_UNAVAILABLE', 'The RTSP publisher is closed.')
    const at = { ...address, host: canonicalHost(address.host) }
    if ([...this.#mounts].some((other) => clash(other, at)))
      throw new ApiError(
        'CONFLICT',
        `Another pipeline is published at port ${at.port} with the path ${at.path}. Choose another path or port.`,
        { reason: 'output_in_use' },
      )
    // The wall clock is read once: a step of it must not break the common time of the streams.
    const offset = this.#clock.now() - performance.now()
    const context = { cname: `${at.path}@${hostname()}`, wallMs: (ms: number) => ms + offset, reportMs: this.#host.limits.reportMs }
    const point = new MountPoint(at, options, context)
    this.#mounts.add(point)
    try {
      await this.#listeners.claim(at)
    } catch (error) {
      point.close()
      this.#mounts.delete(point)
      throw listenError(error, address)
    }
    return this.#handle(point)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#checkTimer)
    await Promise.all([...this.#mounts].map((point) => this.#unmount(point)))
    for (const connection of this.#connections) connection.destroy()
  }

  #handle(point: MountPoint): Mount {
    return {
      get readers() {
        return point.readers
      },
      get stats() {
        return point.stats
      },
      disconnectReaders: () => point.disconnectReaders(),
      close: () => this.#unmount(point),
    }
  }

  async #unmount(point: MountPoint): Promise<void> {
    if (!this.#mounts.delete(point)) return
    point.close()
    for (const connection of this.#connections) if (connection.session?.mount === point) connection.destroy()
    await this.#listeners.release(point, () => {
      for (const connection of this.#connections) if (connection.localPort === point.port) connection.destroy()
    })
  }

  #findMount(localAddress: string, port: number, path: string): MountPoint | undefined {
    for (const point of this.#mounts) if (point.port === port && point.path === path && covers(point.host, localAddress)) return point
    return undefined
  }

  #accept(socket: Socket): void {
    const { connections, connectionsPerAddress } = this.#host.limits
    const connection = new RtspConnection(socket, this.#host)
    const fromThere = this.#perAddress.get(connection.remoteAddress) ?? 0
    this.#connections.add(connection)
    this.#perAddress.set(connection.remoteAddress, fromThere + 1)
    if (this.#connections.size > connections || fromThere >= connectionsPerAddress || this.#closed) connection.destroy()
  }

  #forget(connection: RtspConnection): void {
    if (!this.#connections.delete(connection)) return
    const left = (this.#perAddress.get(connection.remoteAddress) ?? 1) - 1
    if (left > 0) this.#perAddress.set(connection.remoteAddress, left)
    else this.#perAddress.delete(connection.remoteAddress)
  }

  #udpSessions(): number {
    let count = 0
    for (const connection of this.#connections) if (connection.session?.transport === 'udp') count += 1
    return count
  }

  #checkLimits(): void {
    const nowMs = performance.now()
    for (const connection of this.#connections) connection.checkLimits(nowMs)
  }
}

/** Whether one request could name both mounts. */
const clash = (one: ListenAddress & { readonly path: string }, other: ListenAddress & { readonly path: string }): boolean =>
  one.port === other.port && one.path === other.path && (covers(one.host, other.host) || covers(other.host, one.host))

/** The RTSP server of all mounts: several paths may share a port. Independent of pipelines. */
export const createPublisher = (options: PublisherOptions): Publisher => new RtspPublisher(options)
