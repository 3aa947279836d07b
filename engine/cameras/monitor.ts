import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { Backoff } from '../../lib/backoff.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import { type Camera, type CameraCapabilities, type CameraEvent, isDevicePath } from '../../lib/schema/camera.ts'
import type { Ended } from '../gst/child.ts'
import { enumerateDevices } from './enumerate.ts'
import { Inventory } from './inventory.ts'
import { cameraChanges, cameraNodes, joinNodes, toCamera } from './join-nodes.ts'
import type { ListedDevice } from './monitor-output.ts'
import { type DeviceChange, type MonitorProcess, startMonitorProcess } from './monitor-process.ts'
import { completeFromV4l2Ctl, lacksDriver } from './v4l2-ctl.ts'

export interface CameraMonitor {
  /** All attached cameras; SERVICE_UNAVAILABLE when they cannot be listed. */
  list(): Promise<readonly Camera[]>
  /** The formats of the camera at a device path (any of its nodes, or a udev link to one); NOT_FOUND without such a camera. */
  capabilities(devicePath: string): Promise<CameraCapabilities>
  /** Subscribes to hot-plug: cameras that are attached or removed from now on. Returns the function that unsubscribes. */
  onChange(onEvent: (event: CameraEvent) => void): () => void
  close(): Promise<void>
}

interface CameraMonitorOptions {
  readonly log: Log
  /** Whether the system reports hot-plug; otherwise a list older than a second is enumerated again. */
  readonly hasUdev?: () => boolean
  /** How long an enumeration may take, milliseconds. */
  readonly timeoutMs?: number
}

const RESTART = { initial_delay_ms: 500, max_delay_seconds: 30 }
/** After a monitor process ran this long, the backoff starts again from its first delay. */
const HEALTHY_MS = 30_000
/** Without udev: how long an enumeration is used. */
const FRESH_MS = 1000
/** The nodes of one camera appear one after the other within this time. */
const GATHER_MS = 200

const udevRuns = (): boolean => existsSync('/run/udev/control')

/** Lists the cameras of the host and reports hot-plug, with one gst-device-monitor-1.0 that starts on first use. */
export const startCameraMonitor = (options: CameraMonitorOptions): CameraMonitor => new DeviceMonitor(options)

class DeviceMonitor implements CameraMonitor {
  readonly #log: Log
  readonly #hasUdev: () => boolean
  readonly #timeoutMs: number
  readonly #closing = new AbortController()
  readonly #backoff = new Backoff()
  readonly #subscribers = new Set<(event: CameraEvent) => void>()
  #inventory = new Inventory()
  #process: MonitorProcess | undefined
  /** The renewal under way, shared by all callers. */
  #renewal: Promise<void> | undefined
  #renewedAt = Number.NEGATIVE_INFINITY
  #retry: NodeJS.Timeout | undefined
  #gather: NodeJS.Timeout | undefined
  /** The cameras known to subscribers; undefined until the first enumeration, which is not a change. */
  #published: readonly CameraCapabilities[] | undefined

  constructor(options: CameraMonitorOptions) {
    this.#log = options.log
    this.#hasUdev = options.hasUdev ?? udevRuns
    this.#timeoutMs = options.timeoutMs ?? 5000
  }

  async list(): Promise<readonly Camera[]> {
    return (await this.#current()).map(toCamera)
  }

  async capabilities(devicePath: string): Promise<CameraCapabilities> {
    const camera = isDevicePath(devicePath) ? await this.#find(devicePath) : undefined
    if (camera === undefined) throw new ApiError('NOT_FOUND', 'No camera has this device path. GET cameras lists the attached cameras.')
    return camera
  }

  onChange(onEvent: (event: CameraEvent) => void): () => void {
    this.#subscribers.add(onEvent)
    // Changes are relative to a first list.
    if (this.#published === undefined) this.#renewInBackground()
    return () => {
      this.#subscribers.delete(onEvent)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#subscribers.clear()
    clearTimeout(this.#retry)
    clearTimeout(this.#gather)
    await this.#renewal?.catch(() => {})
    await this.#process?.stop()
  }

  async #current(): Promise<readonly CameraCapabilities[]> {
    if (this.#closing.signal.aborted) throw new ApiError('SERVICE_UNAVAILABLE', 'The engine is stopping. Try again when it has restarted.')
    const fresh = this.#hasUdev() || performance.now() - this.#renewedAt < FRESH_MS
    if (this.#process === undefined || this.#renewal !== undefined || !fresh) await this.#renew()
    return this.#cameras()
  }

  async #find(devicePath: string): Promise<CameraCapabilities | undefined> {
    const cameras = await this.#current()
    // The monitor lists nodes, not the links of udev that point to them.
    const path = devicePath.startsWith('/dev/v4l/') ? await realpath(devicePath).catch(() => devicePath) : devicePath
    return cameras.find(({ device_paths }) => device_paths.includes(path))
  }

  #cameras(): readonly CameraCapabilities[] {
    return joinNodes(cameraNodes(this.#inventory.devices))
  }

  #renew(): Promise<void> {
    this.#renewal ??= this.#enumerateAndWatch().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  #renewInBackground(): void {
    this.#renew().catch((error: unknown) => this.#log.warn('cameras_not_listed', { error }))
  }

  /**
   * Enumerates the devices once, then starts a monitor process for later changes. A device that is removed between the two is
   * missing in what the process reports until it has settled.
   */
  async #enumerateAndWatch(): Promise<void> {
    clearTimeout(this.#retry)
    const previous = this.#process
    this.#process = undefined
    await previous?.stop()
    try {
      const listed = await enumerateDevices(this.#timeoutMs, this.#closing.signal)
      this.#inventory.replace(await completeFromV4l2Ctl(listed, this.#closing.signal))
    } catch (error) {
      // A missing program is tried again with the next call, not with backoff.
      if (!(error instanceof ApiError && error.details.reason === 'monitor_missing')) this.#retryLater()
      throw error
    }
    this.#renewedAt = performance.now()
    if (this.#published === undefined) this.#published = this.#cameras()
    else this.#publishSoon()
    if (!this.#closing.signal.aborted) this.#startProcess()
  }

  #startProcess(): void {
    const reported = new Inventory()
    const since = performance.now()
    const monitor = startMonitorProcess({
      startTimeoutMs: this.#timeoutMs,
      onChange: (change) => {
        if (this.#process === monitor) this.#apply(change, reported)
      },
      onSettled: () => {
        if (this.#process !== monitor) return
        this.#inventory = reported.completedFrom(this.#inventory)
        this.#publishSoon()
      },
    })
    this.#process = monitor
    void monitor.ended.then((ended) => {
      if (this.#process === monitor) this.#onProcessEnd(ended, performance.now() - since)
    })
  }

  #onProcessEnd(ended: Ended, uptimeMs: number): void {
    this.#process = undefined
    if (uptimeMs > HEALTHY_MS) this.#backoff.reset()
    if (this.#closing.signal.aborted) return
    this.#log.warn('camera_monitor_ended', { exit_code: ended.exitCode, signal: ended.signal })
    this.#retryLater()
  }

  #retryLater(): void {
    if (this.#closing.signal.aborted) return
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#renewInBackground(), this.#backoff.next(RESTART))
  }

  #apply(change: DeviceChange, reported: Inventory): void {
    if (change.type === 'added') {
      reported.add(change.device)
      if (this.#inventory.add(change.device) && lacksDriver(change.device)) this.#complete(change.device)
      this.#publishSoon()
      return
    }
    reported.remove(change.name)
    if (this.#inventory.remove(change.name)) this.#publishSoon()
  }

  #complete(device: ListedDevice): void {
    completeFromV4l2Ctl([device], this.#closing.signal).then(
      ([completed]) => {
        // The device may have been removed in the meantime.
        if (completed !== undefined && this.#inventory.devices.includes(device)) this.#inventory.add(completed)
      },
      (error: unknown) => this.#log.warn('camera_details_unknown', { error }),
    )
  }

  /** Publishes after a short time, since the nodes of one camera appear and disappear one after the other. */
  #publishSoon(): void {
    if (this.#closing.signal.aborted) return
    this.#gather ??= setTimeout(() => {
      this.#gather = undefined
      if (this.#inventory.unresolved) this.#renewInBackground()
      else this.#publish()
    }, GATHER_MS)
  }

  #publish(): void {
    const cameras = this.#cameras()
    const changes = cameraChanges(this.#published ?? [], cameras)
    this.#published = cameras
    for (const change of changes) {
      this.#log.info(change.type, { device_path: change.device_path })
      for (const onEvent of this.#subscribers) onEvent(change)
    }
  }
}
