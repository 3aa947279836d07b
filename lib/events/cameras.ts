import { engineUnavailable } from '../engine/caller.ts'
import { type Following, follow } from '../engine/follow.ts'
import type { Cameras } from '../engine/protocol.ts'
import type { Log } from '../ports.ts'
import type { Camera, CameraEvent, CameraReport } from '../schema/camera.ts'
import type { EventHub } from './hub.ts'

const PAUSES = { initial_delay_ms: 1000, max_delay_seconds: 30 }

export interface CameraWatch {
  /** Watches from now on. Settles when changes are published; rejects when they cannot be (attempts continue). */
  begin(): Promise<void>
  /** Ends everything at once. */
  close(): void
}

/**
 * Publishes the changes of the engine's cameras, from the first subscriber on, so that a client that reconnects has missed none.
 * Changes during an outage of the engine are published after it.
 */
export const createCameraWatch = (deps: {
  readonly cameras: Pick<Cameras, 'events'>
  readonly events: Pick<EventHub, 'push'>
  readonly log: Log
}): CameraWatch => {
  const closing = new AbortController()
  let known: readonly Known[] | undefined
  let following: Following | undefined
  let attempt = newAttempt()

  const onReport = (report: CameraReport): void => {
    if (report.type === 'heartbeat') return
    const before = known ?? (report.type === 'cameras' ? report.cameras : [])
    known = report.type === 'cameras' ? report.cameras : afterChange(before, report)
    for (const change of changesBetween(before, known)) deps.events.push(change)
    if (report.type === 'cameras') attempt.resolve()
  }
  const onLost = (error: unknown): void => {
    deps.log.debug('camera_upstream_lost', { error })
    attempt.reject(error)
    attempt = newAttempt()
  }
  return {
    begin() {
      const { promise } = attempt
      following?.retry()
      following ??= follow({ open: deps.cameras.events, onEvent: onReport, onLost, pauses: PAUSES, signal: closing.signal })
      return promise
    },
    close() {
      closing.abort()
      attempt.reject(engineUnavailable())
    },
  }
}

const newAttempt = (): PromiseWithResolvers<void> => {
  const attempt = Promise.withResolvers<void>()
  // There may be no caller left to handle a rejection.
  attempt.promise.catch(() => {})
  return attempt
}

type Known = Pick<Camera, 'device_path' | 'device_name' | 'formats'>

const afterChange = (known: readonly Known[], change: CameraEvent): readonly Known[] => {
  const others = known.filter(({ device_path }) => device_path !== change.device_path)
  return change.type === 'camera_removed' ? others : [...others, change]
}

/** Removals first: the same path with another camera behind it is a removal and an addition. */
const changesBetween = (before: readonly Known[], after: readonly Known[]): readonly CameraEvent[] => {
  const among = (camera: Known, others: readonly Known[]): boolean =>
    others.some(({ device_path, device_name }) => device_path === camera.device_path && device_name === camera.device_name)
  return [
    ...before.filter((camera) => !among(camera, after)).map(({ device_path }): CameraEvent => ({ type: 'camera_removed', device_path })),
    ...after
      .filter((camera) => !among(camera, before))
      .map(({ device_path, device_name, formats }): CameraEvent => ({ type: 'camera_added', device_path, device_name, formats })),
  ]
}
