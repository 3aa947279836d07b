import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { Backoff } from '../../lib/backoff.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import { type Camera, type CameraCapabilities, type CameraEvent, isDevicePath } from '../../lib/schema/camera.ts'
import type { Ended } from '../gst/child.ts'
import { enumerateDevices } from './enumerate.ts'
import { Inventory } from './inventory.ts'
import { cameraChanges, cameraNodes, joinNodes, toCamera } from './join.ts'
import type { ListedDevice } from './monitor-output.ts'
import { type DeviceChange, type Follower, startFollower } from './monitor-process.ts'
import { completeFromV4l2Ctl, lacksDriver } from './v4l2-ctl.ts'

export interface CameraMonitor {
  /** Every camera attached to the host; SERVICE_UNAVAILABLE when the host cannot tell. */
  list(): Promise<readonly Camera[]>
  /** What the camera at a device path (any of its nodes, or a link of udev's to one) can do; NOT_FOUND when there is none. */
  capabilities(devicePath: string): Promise<CameraCapabilities>
  /** Calls back for each camera that comes or goes from now on; answers how to end that. */
  onChange(listener: (event: CameraEvent) => void): () => void
  close(): Promise<void>
}

export interface CameraMonitorOptions {
  readonly log: Log
  /** Whether changes are told by the system; when not, a list older than a second is made anew. */
  readonly hasUdev?: () => boolean
  /** How long the nodes of one camera may take to appear one after the other, milliseconds. */
  readonly gatherMs?: number
  /** How long an enumeration may take, milliseconds. */
  readonly patienceMs?: number
}

const RESTART = { initial_delay_ms: 500, max_delay_seconds: 30, give_up_after_seconds: null }
/** A monitor that lived this long was well: its next end is answered at once again. */
const HEALTHY_MS = 30_000
const FRESH_MS = 1000

const udevRuns = (): boolean => existsSync('/run/udev/control')

/** Watches the cameras of the host through one gst-device-monitor-1.0, which starts when somebody asks for the first time. */
export const startCameraMonitor = (options: CameraMonitorOptions): CameraMonitor => new DeviceMonitor(options)

class DeviceMonitor implements CameraMonitor {
  readonly #log: Log
  readonly #hasUdev: () => boolean
  readonly #gatherMs: number
  readonly #patienceMs: number
  readonly #closing = new AbortController()
  readonly #backoff = new Backoff()
  readonly #listeners = new Set<(event: CameraEvent) => void>()
  #inventory = new Inventory()
  #follower: Follower | undefined
  /** The renewal under way: everybody who asks meanwhile shares it. */
  #renewal: Promise<void> | undefined
  #renewedAt = Number.NEGATIVE_INFINITY
  #retry: NodeJS.Timeout | undefined
  #gather: NodeJS.Timeout | undefined
  /** What listeners know; undefined until the first enumeration, which is no change. */
  #published: readonly CameraCapabilities[] | undefined

  constructor(options: CameraMonitorOptions) {
    this.#log = options.log
    this.#hasUdev = options.hasUdev ?? udevRuns
    this.#gatherMs = options.gatherMs ?? 200
    this.#patienceMs = options.patienceMs ?? 5000
  }

  async list(): Promise<readonly Camera[]> {
    return (await this.#current()).map(toCamera)
  }

  async capabilities(devicePath: string): Promise<CameraCapabilities> {
    const camera = isDevicePath(devicePath) ? await this.#find(devicePath) : undefined
    if (camera === undefined) throw new ApiError('NOT_FOUND', 'No camera has this device path. GET cameras lists those that are attached.')
    return camera
  }

  onChange(listener: (event: CameraEvent) => void): () => void {
    this.#listeners.add(listener)
    // Changes are told against a first list, so that must exist.
    if (this.#published === undefined) this.#renewInBackground()
    return () => {
      this.#listeners.delete(listener)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#listeners.clear()
    clearTimeout(this.#retry)
    clearTimeout(this.#gather)
    await this.#renewal?.catch(() => {})
    await this.#follower?.stop()
  }

  async #current(): Promise<readonly CameraCapabilities[]> {
    if (this.#closing.signal.aborted) throw new ApiError('SERVICE_UNAVAILABLE', 'The engine is stopping.')
    const fresh = this.#hasUdev() || performance.now() - this.#renewedAt < FRESH_MS
    if (this.#follower === undefined || this.#renewal !== undefined || !fresh) await this.#renew()
    return this.#cameras()
  }

  async #find(devicePath: string): Promise<CameraCapabilities | undefined> {
    const cameras = await this.#current()
    // udev's links are stable over restarts; the monitor knows only the nodes they point to.
    const path = devicePath.startsWith('/dev/v4l/') ? await realpath(devicePath).catch(() => devicePath) : devicePath
    return cameras.find(({ device_paths }) => device_paths.includes(path))
  }

  #cameras(): readonly CameraCapabilities[] {
    return joinNodes(cameraNodes(this.#inventory.devices))
  }

  #renew(): Promise<void> {
    this.#renewal ??= this.#enumerateAndFollow().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  #renewInBackground(): void {
    this.#renew().catch((error: unknown) => this.#log.warn('cameras_not_listed', { error }))
  }

  /**
   * A complete list with a definite end, then a follower for what comes after it. What went away between the two is
   * found when the follower has told all that is there.
   */
  async #enumerateAndFollow(): Promise<void> {
    clearTimeout(this.#retry)
    const previous = this.#follower
    this.#follower = undefined
    await previous?.stop()
    try {
      const listed = await enumerateDevices(this.#patienceMs, this.#closing.signal)
      this.#inventory.replace(await completeFromV4l2Ctl(listed, this.#closing.signal))
    } catch (error) {
      // A program that is missing is looked for again when somebody asks.
      if (!(error instanceof ApiError && error.details.reason === 'monitor_missing')) this.#retryLater()
      throw error
    }
    this.#renewedAt = performance.now()
    if (this.#published === undefined) this.#published = this.#cameras()
    else this.#publishSoon()
    if (!this.#closing.signal.aborted) this.#follow()
  }

  #follow(): void {
    const told = new Inventory()
    const since = performance.now()
    const follower = startFollower({
      patienceMs: this.#patienceMs,
      onChange: (change) => {
        if (this.#follower === follower) this.#apply(change, told)
      },
      onSettled: () => {
        if (this.#follower !== follower) return
        this.#inventory = told.completedFrom(this.#inventory)
        this.#publishSoon()
      },
    })
    this.#follower = follower
    void follower.ended.then((ended) => {
      if (this.#follower === follower) this.#onFollowerEnd(ended, performance.now() - since)
    })
  }

  #onFollowerEnd(ended: Ended, livedMs: number): void {
    this.#follower = undefined
    if (livedMs > HEALTHY_MS) this.#backoff.reset()
    if (this.#closing.signal.aborted) return
    this.#log.warn('camera_monitor_ended', { exit_code: ended.exitCode, signal: ended.signal })
    this.#retryLater()
  }

  #retryLater(): void {
    if (this.#closing.signal.aborted) return
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#renewInBackground(), this.#backoff.next(RESTART))
  }

  #apply(change: DeviceChange, told: Inventory): void {
    if (change.type === 'added') {
      told.add(change.device)
      if (this.#inventory.add(change.device) && lacksDriver(change.device)) this.#complete(change.device)
      this.#publishSoon()
      return
    }
    told.remove(change.name)
    if (this.#inventory.remove(change.name)) this.#publishSoon()
  }

  #complete(device: ListedDevice): void {
    completeFromV4l2Ctl([device], this.#closing.signal).then(
      ([completed]) => {
        // It may have been unplugged again meanwhile.
        if (completed !== undefined && this.#inventory.devices.includes(device)) this.#inventory.add(completed)
      },
      (error: unknown) => this.#log.warn('camera_details_unknown', { error }),
    )
  }

  /** Gathers what belongs together: the nodes of one camera appear and disappear one after the other. */
  #publishSoon(): void {
    if (this.#closing.signal.aborted) return
    this.#gather ??= setTimeout(() => {
      this.#gather = undefined
      if (this.#inventory.unresolved) this.#renewInBackground()
      else this.#publish()
    }, this.#gatherMs)
  }

  #publish(): void {
    const cameras = this.#cameras()
    const changes = cameraChanges(this.#published ?? [], cameras)
    this.#published = cameras
    for (const change of changes) {
      this.#log.info(change.type, { device_path: change.device_path })
      for (const listener of this.#listeners) listener(change)
    }
  }
}
