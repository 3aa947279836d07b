import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { enumerateDevices } from '../../../engine/cameras/enumerate.ts'
import { type CameraMonitor, startCameraMonitor } from '../../../engine/cameras/monitor.ts'
import type { Log } from '../../../lib/ports.ts'
import type { CameraEvent } from '../../../lib/schema/camera.ts'
import { takeDescriptors } from '../../helpers/process/descriptors.ts'
import { childrenOf, pidOf } from '../../helpers/process/processes.ts'
import { until } from '../../helpers/until.ts'

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} }
const WEBCAM = new URL('../../fixtures/cameras/uvc-webcam.txt', import.meta.url).pathname
const path = process.env.PATH
let folder: string
let monitor: CameraMonitor | undefined

/** A host whose gst-device-monitor-1.0 is this shell script; `listing` runs without -f, `watching` with it. */
const hostWith = (script: { readonly listing: string; readonly watching: string }): string => {
  const runs = join(folder, 'runs')
  const program = join(folder, 'gst-device-monitor-1.0')
  writeFileSync(runs, '')
  writeFileSync(program, `#!/bin/sh\necho "$1" >> ${runs}\nif [ "$1" = -f ]; then\n${script.watching}\nelse\n${script.listing}\nfi\n`)
  chmodSync(program, 0o755)
  return runs
}

/** How many monitor processes were started so far. */
const monitorStarts = (runs: string): number => readFileSync(runs, 'utf8').split('-f').length - 1

const start = (timeoutMs?: number): CameraMonitor => {
  monitor = startCameraMonitor({ log: SILENT, hasUdev: () => true, ...(timeoutMs !== undefined && { timeoutMs }) })
  return monitor
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'camera-host-'))
  for (const program of ['setpriv', 'sh', 'cat', 'sleep']) symlinkSync(findProgram(program), join(folder, program))
  process.env.PATH = folder
})

afterEach(async () => {
  await monitor?.close()
  monitor = undefined
  process.env.PATH = path
  rmSync(folder, { recursive: true })
})

const findProgram = (name: string): string => {
  for (const place of (path ?? '').split(':')) {
    try {
      readFileSync(join(place, name))
      return join(place, name)
    } catch {}
  }
  throw new Error(`${name} is not installed`)
}

/** The scripts become sleep after their output. */
const monitors = () => childrenOf(process.pid).filter(({ command }) => /gst-device-monitor|sleep 60/.test(command))

describe('the camera monitor on a host', () => {
  it('without the monitor program answers SERVICE_UNAVAILABLE with the package to install, and lists after it was installed', async () => {
    const started = start()
    const unavailable = { code: 'SERVICE_UNAVAILABLE', message: expect.stringContaining('gstreamer1.0-plugins-base-apps') }
    await expect(started.list()).rejects.toMatchObject(unavailable)
    await expect(started.capabilities('/dev/video0')).rejects.toMatchObject(unavailable)
    hostWith({ listing: `cat ${WEBCAM}`, watching: `echo "Monitoring devices"; cat ${WEBCAM}; exec sleep 60` })
    expect(await started.list()).toMatchObject([{ device_path: '/dev/video0' }])
  })

  it('without the V4L2 plugin names the missing package', async () => {
    hostWith({ listing: 'echo "Failed to start device monitor!" >&2; exit 1', watching: 'exit 1' })
    await expect(start().list()).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringContaining('gstreamer1.0-plugins-good'),
    })
  })

  it('says so when it cannot be started for want of descriptors', async () => {
    const giveBack = takeDescriptors()
    const failure = await enumerateDevices(5000, new AbortController().signal).catch((error: unknown) => error)
    giveBack()
    expect(failure).toMatchObject({ code: 'SERVICE_UNAVAILABLE', message: expect.stringContaining('too many open files') })
  })

  it('where the enumeration hangs answers after the timeout and leaves no process behind', async () => {
    hostWith({ listing: 'exec sleep 60', watching: 'exec sleep 60' })
    const started = performance.now()
    await expect(start(300).list()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'monitor_timeout' } })
    expect(performance.now() - started).toBeLessThan(10_000)
    await monitor?.close()
    expect(monitors()).toEqual([])
  })

  it('where a process that the monitor started hangs answers after the timeout', async () => {
    const helper = `sleep 60 & echo $! >> ${join(folder, 'helpers')}; wait`
    hostWith({ listing: helper, watching: helper })
    const started = performance.now()
    const unavailable = { code: 'SERVICE_UNAVAILABLE', details: { reason: 'monitor_timeout' } }
    await expect(start(300).list()).rejects.toMatchObject(unavailable)
    await expect(monitor?.list()).rejects.toMatchObject(unavailable)
    await monitor?.close()
    expect(performance.now() - started).toBeLessThan(20_000)
    for (const pid of readFileSync(join(folder, 'helpers'), 'utf8').trim().split('\n')) process.kill(Number(pid), 'SIGKILL')
  })

  it('where the monitor process hangs before it starts lists the cameras and starts another one', async () => {
    const runs = hostWith({ listing: `cat ${WEBCAM}`, watching: 'exec sleep 60' })
    const started = start(200)
    expect(await started.list()).toHaveLength(1)
    await expect.poll(() => monitorStarts(runs)).toBeGreaterThanOrEqual(2)
    expect(await started.list()).toHaveLength(1)
  })

  it('where the monitor process ends at once restarts it with backoff', async () => {
    const runs = hostWith({ listing: 'exit 0', watching: 'exit 0' })
    start().onChange(() => {})
    const began = performance.now()
    await expect.poll(() => monitorStarts(runs)).toBeGreaterThanOrEqual(3)
    // 0.5 s, and 0.75 to 1 s, between three attempts.
    expect(performance.now() - began).toBeGreaterThan(1150)
  })

  it('reports a camera that was removed just before the monitor process started', async () => {
    hostWith({ listing: `cat ${WEBCAM}`, watching: 'echo "Monitoring devices"; exec sleep 60' })
    const events: CameraEvent[] = []
    const started = start()
    started.onChange((event) => events.push(event))
    expect(await started.list()).toHaveLength(1)
    await expect.poll(() => events.length).toBeGreaterThan(0)
    expect(events).toEqual([{ type: 'camera_removed', device_path: '/dev/video0' }])
    expect(await started.list()).toEqual([])
  })

  it('reports nothing when the monitor process is replaced and nothing changed', async () => {
    const runs = hostWith({ listing: `cat ${WEBCAM}`, watching: `echo "Monitoring devices"; cat ${WEBCAM}; exec sleep 60` })
    const events: CameraEvent[] = []
    const started = start()
    started.onChange((event) => events.push(event))
    await started.list()
    // A process that is killed before its script runs would not be counted.
    await expect.poll(() => monitorStarts(runs)).toBe(1)
    const [first] = await until(monitors, (found) => found.length === 1)
    process.kill(pidOf(first), 'SIGKILL')
    await expect.poll(() => monitorStarts(runs)).toBe(2)
    expect(await started.list()).toHaveLength(1)
    expect(events).toEqual([])
  })

  it('that is stopping starts no more processes', async () => {
    const runs = hostWith({ listing: `cat ${WEBCAM}`, watching: 'exec sleep 60' })
    const stopped = start()
    await stopped.list()
    await stopped.close()
    const before = readFileSync(runs, 'utf8')
    await expect(stopped.list()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(readFileSync(runs, 'utf8')).toBe(before)
    expect(monitors()).toEqual([])
  })
})
