import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { cameraFault } from '../../../engine/gst/camera-errors.ts'
import type { Finished } from '../../../engine/gst/child.ts'
import { cameraLine } from '../../../engine/sources/camera/launch-line.ts'
import { chooseCameraMode } from '../../../engine/sources/camera/mode.ts'
import type { Camera, CameraCapabilities, CameraEvent } from '../../../lib/schema/camera.ts'
import { type CameraMock, startCameraMock } from '../../helpers/media/camera-mock.ts'
import { childrenOf, pidOf } from '../../helpers/process/processes.ts'
import { until } from '../../helpers/until.ts'

const HOST = fileURLToPath(new URL('../../fixtures/cameras/monitor-host.ts', import.meta.url))

interface Reported {
  readonly event: CameraEvent
  /** milliseconds since the epoch */
  readonly at: number
}

/** A monitor process of the mock's cameras. */
const startHost = (environment: NodeJS.ProcessEnv = {}) => {
  const mock = startCameraMock([process.execPath, HOST], environment)
  const answers = new Map<number, { resolve(result: unknown): void; reject(error: unknown): void }>()
  const reported: Reported[] = []
  const waiting: { matches(reported: Reported): boolean; resolve(reported: Reported): void }[] = []
  let next = 1
  createInterface({ input: mock.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as { id: number; result: unknown; error?: unknown } | Reported
    if ('event' in message) {
      const waiter = waiting.findIndex(({ matches }) => matches(message))
      if (waiter < 0) reported.push(message)
      else waiting.splice(waiter, 1)[0]?.resolve(message)
    } else if (message.error === undefined) answers.get(message.id)?.resolve(message.result)
    else answers.get(message.id)?.reject(message.error)
  })
  const call = <T>(name: string, argument?: unknown): Promise<T> => {
    const id = next++
    return new Promise((resolve, reject) => {
      answers.set(id, { resolve: resolve as (result: unknown) => void, reject })
      mock.stdin.write(`${JSON.stringify({ id, call: name, with: argument })}\n`)
    })
  }
  return {
    mock,
    reported,
    list: () => call<readonly Camera[]>('list'),
    capabilities: (path: string) => call<CameraCapabilities>('capabilities', path),
    watch: () => call<null>('watch'),
    run: (...command: string[]) => call<Finished>('run', command),
    close: () => call<null>('close'),
    /** The next event of this kind about this device. */
    event: (type: CameraEvent['type'], devicePath: string): Promise<Reported> => {
      const matches = ({ event }: Reported): boolean => event.type === type && event.device_path === devicePath
      const at = reported.findIndex(matches)
      const [found] = at < 0 ? [] : reported.splice(at, 1)
      return found ? Promise.resolve(found) : new Promise((resolve) => waiting.push({ matches, resolve }))
    },
  }
}

/** The gst-device-monitor-1.0 processes below the mock. */
const monitorsOf = (mock: CameraMock) =>
  childrenOf(mock.pid)
    .flatMap(({ pid }) => childrenOf(pid))
    .filter(({ command }) => command.includes('gst-device-monitor'))

let running: CameraMock | undefined
const host = (environment?: NodeJS.ProcessEnv) => {
  const started = startHost(environment)
  running = started.mock
  return started
}

afterEach(async () => {
  await running?.close()
  running = undefined
})

describe('the camera monitor', () => {
  it('answers an empty list on a host without cameras, and NOT_FOUND for any path', async () => {
    const { list, capabilities } = host()
    expect(await list()).toEqual([])
    await expect(capabilities('/dev/video0')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('lists a webcam once, without its metadata node, and its formats', async () => {
    const { mock, list, capabilities } = host()
    await mock.plug('webcam')
    expect(await list()).toEqual([
      {
        device_path: '/dev/video0',
        device_paths: ['/dev/video0'],
        device_name: 'Mock UVC Camera',
        driver: 'uvcvideo',
        bus_info: 'usb-0000:00:14.0-1',
        serial: '046d_Mock_ABC123',
        formats: 2,
      },
    ])
    const { formats } = await capabilities('/dev/video0')
    const sizesOf = formats.map(({ encoding, sizes }) => [
      encoding,
      ...sizes.map((size) => `${size.width}x${size.height}@${size.frame_rates}`),
    ])
    expect(sizesOf).toEqual([
      ['yuy2', '640x480@30,15'],
      ['mjpeg', '1280x720@30,15', '640x480@30'],
    ])
  })

  it('joins the MJPEG node and the H.264 node of one camera, found by either path', async () => {
    const { mock, list, capabilities } = host()
    await mock.plug('onboard')
    expect(await list()).toMatchObject([{ device_path: '/dev/video2', device_paths: ['/dev/video2', '/dev/video4'], formats: 2 }])
    const camera = await capabilities('/dev/video4')
    expect(camera.formats.map(({ encoding, device_path }) => [encoding, device_path])).toEqual([
      ['mjpeg', '/dev/video2'],
      ['h264', '/dev/video4'],
    ])
  })

  it('reports soon, and once, that a camera was plugged in or unplugged', async () => {
    const { mock, watch, event, list, reported } = host()
    await watch()
    const plugged = await mock.plug('onboard')
    const added = await event('camera_added', '/dev/video2')
    expect(added.event).toMatchObject({ device_name: 'Mock H264 Camera', formats: 2 })
    expect(added.at - plugged).toBeLessThan(5000)
    expect(await list()).toHaveLength(1)

    const unplugged = await mock.unplug('onboard')
    const removed = await event('camera_removed', '/dev/video2')
    expect(removed.at - unplugged).toBeLessThan(5000)
    expect(await list()).toEqual([])

    await mock.plug('onboard')
    expect((await event('camera_added', '/dev/video2')).event).toEqual(added.event)
    expect(reported).toEqual([])
  })

  it('finds out which of two cameras of the same name was removed', async () => {
    const { mock, watch, event, list } = host()
    await watch()
    await mock.plug('twin-a')
    await event('camera_added', '/dev/video7')
    await mock.plug('twin-b')
    await event('camera_added', '/dev/video8')
    await mock.unplug('twin-a')
    await event('camera_removed', '/dev/video7')
    expect(await list()).toMatchObject([{ device_path: '/dev/video8', serial: '1111_Twin_B' }])
  })

  it('keeps reporting after its monitor process was killed', async () => {
    const { mock, watch, event } = host()
    await watch()
    await mock.plug('webcam')
    await event('camera_added', '/dev/video0')
    await expect.poll(() => monitorsOf(mock)).toHaveLength(1)
    process.kill(pidOf(monitorsOf(mock)[0]), 'SIGKILL')
    await mock.unplug('webcam')
    await event('camera_removed', '/dev/video0')
    await mock.plug('thermal')
    expect((await event('camera_added', '/dev/video5')).event).toMatchObject({ device_name: 'Mock Thermal' })
  })

  it('enumerates again on a host without udev, which reports no changes', async () => {
    const { mock, list } = host({ MOCK_UDEV: '0' })
    expect(await list()).toEqual([])
    await mock.plug('webcam')
    await until(list, (cameras) => cameras.length === 1)
  })

  it('leaves no process behind when it is closed', async () => {
    const { mock, watch, close } = host()
    await watch()
    expect(monitorsOf(mock)).toHaveLength(1)
    await close()
    expect(monitorsOf(mock)).toEqual([])
  })

  it('starts no process before the first call, and one for concurrent calls', async () => {
    const { mock, list } = host()
    await mock.plug('webcam')
    expect(monitorsOf(mock)).toEqual([])
    await Promise.all([list(), list(), list()])
    expect(monitorsOf(mock)).toHaveLength(1)
  })
})

describe('capture from a camera', () => {
  /** Records 60 frames from the address with gst-launch and counts them with ffprobe. */
  const record = async (source: ReturnType<typeof host>, uri: string, reencode: boolean, tail: string) => {
    const folder = mkdtempSync(join(tmpdir(), 'camera-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'recorded.mkv')
    const [element = '', ...rest] = cameraLine(chooseCameraMode(uri, await source.capabilities(new URL(uri).pathname), { reencode }))
    const sink = `${tail} ! h264parse ! matroskamux ! filesink location=${file}`
    await source.run('gst-launch-1.0', element, 'num-buffers=60', ...rest, ...sink.split(' '))
    const counted = '-v error -count_frames -show_entries stream=codec_name,width,height,nb_read_frames -of csv=p=0'
    const { stdout, stderr } = await source.run('ffprobe', ...counted.split(' '), file)
    return { frames: stdout, errors: stderr }
  }
  const ENCODE = '! videoconvert ! x264enc tune=zerolatency speed-preset=ultrafast'

  it.each([
    [
      're-encodes every frame of the MJPEG of a webcam',
      'webcam',
      '0?encoding=mjpeg&width=1280&height=720',
      true,
      `! jpegdec ${ENCODE}`,
      '1280,720',
    ],
    ['encodes raw video', 'webcam', '0?encoding=raw&fps=30', true, ENCODE, '640,480'],
    ['passes through the H.264 of the second node of the camera', 'onboard', '2', false, '! h264parse', '640,480'],
  ] as const)('%s', async (_what, camera, address, reencode, tail, size) => {
    const source = host()
    await source.mock.plug(camera)
    const recorded = await record(source, `v4l2:///dev/video${address}`, reencode, tail)
    expect(recorded).toEqual({ frames: `h264,${size},60`, errors: '' })
  })

  it('reports a camera that is in use, was unplugged, or is not attached', async () => {
    const source = host()
    const launch = ['v4l2src', 'device=/dev/video0', '!', 'fakesink']
    const reason = ({ stderr }: Finished) => cameraFault(stderr.split('\n'))?.reason
    expect(reason(await source.run('gst-launch-1.0', ...launch))).toBe('device_missing')

    await source.mock.plug('webcam')
    await source.mock.busy('webcam')
    expect(reason(await source.run('gst-launch-1.0', ...launch))).toBe('device_busy')

    await source.mock.free('webcam')
    const capture = source.run('gst-launch-1.0', ...launch)
    await source.mock.captures('webcam')
    await source.mock.unplug('webcam')
    expect(reason(await capture)).toBe('device_missing')
  })
})
