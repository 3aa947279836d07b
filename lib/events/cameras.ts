import { engineUnavailable } from '../engine/client.ts'
import type { Cameras, Log } from '../ports.ts'
import type { Camera, CameraEvent } from '../schema/camera.ts'
import type { EventHub } from './hub.ts'

/** Pauses before the engine is asked again, milliseconds: the first, then twice as long each time up to the longest. */
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 30_000

export interface CameraWatch {
  /** Somebody follows the cameras. Settles when changes are told from now on, or with why they cannot be; then it goes on trying. */
  begin(): Promise<void>
  /** Ends everything at once. */
  close(): void
}

/**
 * Brings the changes of cameras from the engine, from the first time that somebody follows them on: so those who come
 * back later have missed none. What changed while the engine was away is told when it is there again.
 */
export const createCameraWatch = (deps: {
  readonly cameras: Pick<Cameras, 'follow'>
  readonly events: Pick<EventHub, 'push'>
  readonly log: Log
}): CameraWatch => {
  const closing = new AbortController()
  let known: readonly Known[] | undefined
  let begun = false
  let attempt = newAttempt()
  let endPause = (): void => {}

  const tell = (changes: readonly CameraEvent[]): void => {
    for (const change of changes) deps.events.push(change)
  }

  const follow = async (): Promise<void> => {
    for await (const report of deps.cameras.follow(closing.signal)) {
      if (report.type === 'heartbeat') continue
      const before = known ?? (report.type === 'cameras' ? report.cameras : [])
      known = report.type === 'cameras' ? report.cameras : afterChange(before, report)
      tell(changesBetween(before, known))
      if (report.type === 'cameras') attempt.resolve()
    }
    throw engineUnavailable()
  }

  const keep = async (): Promise<void> => {
    let pauseMs = FIRST_PAUSE_MS
    while (!closing.signal.aborted) {
      const current = attempt
      void current.promise.then(
        () => {
          pauseMs = FIRST_PAUSE_MS
        },
        () => {},
      )
      await follow().catch((error: unknown) => {
        deps.log.debug('cameras_not_followed', { error })
        current.reject(error)
      })
      attempt = newAttempt()
      if (!closing.signal.aborted) await pause(pauseMs)
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    }
  }

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  return {
    begin() {
      const { promise } = attempt
      if (!begun) void keep()
      begun = true
      endPause()
      return promise
    },
    close() {
      closing.abort()
      attempt.reject(engineUnavailable())
      endPause()
    },
  }
}

const newAttempt = (): PromiseWithResolvers<void> => {
  const attempt = Promise.withResolvers<void>()
  // Perhaps nobody waits.
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
