import { readdirSync, readFileSync } from 'node:fs'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { cameraNodes, joinNodes } from '../../../../engine/cameras/join-nodes.ts'
import { createMonitorParser, type ListedDevice, type MonitorEvent } from '../../../../engine/cameras/monitor-output.ts'
import { parseV4l2Info } from '../../../../engine/cameras/v4l2-ctl.ts'
import { type CameraCapabilities, type CameraSize, cameraCapabilitiesSchema } from '../../../../lib/schema/camera.ts'
import { createRandom } from '../../../helpers/random.ts'

const FIXTURES = new URL('../../../fixtures/cameras/', import.meta.url)
const listing = (name: string): string => readFileSync(new URL(`${name}.txt`, FIXTURES), 'utf8')
const LISTINGS = readdirSync(FIXTURES).flatMap((name) => (name.endsWith('.txt') ? [name.slice(0, -4)] : []))

const devicesIn = (events: readonly MonitorEvent[]): readonly ListedDevice[] =>
  events.flatMap((event) => (event.type === 'added' ? [event.device] : []))
const camerasIn = (text: string): readonly CameraCapabilities[] => joinNodes(cameraNodes(devicesIn(createMonitorParser().push(text))))

const rateText = ({ frame_rates, frame_rate_range: range }: CameraSize): string =>
  range === null ? frame_rates.join(' ') || 'any' : `${range.min}..${range.max}`
const sizeText = ({ width, height, size_range: range }: CameraSize): string =>
  range === null
    ? `${width}x${height}`
    : `${range.min_width}..${width}/${range.step_width}x${range.min_height}..${height}/${range.step_height}`
/** The camera, then `encoding: size@rates, …` per format. */
const summary = (camera: CameraCapabilities): readonly string[] => [
  `${camera.device_paths.join('+')} ${camera.device_name} (${camera.driver}, ${camera.bus_info}, ${camera.serial})`,
  ...camera.formats.map(({ encoding, sizes }) => `${encoding}: ${sizes.map((size) => `${sizeText(size)}@${rateText(size)}`).join(', ')}`),
]

const KINDS: readonly { readonly title: string; readonly listing: string; readonly cameras: readonly (readonly string[])[] }[] = [
  {
    title: 'a webcam with MJPEG and YUYV',
    listing: 'uvc-webcam',
    cameras: [
      [
        '/dev/video0 HD Pro Webcam C920 (uvcvideo, usb-0000:00:14.0-2, 046d_HD_Pro_Webcam_C920_A1B2C3D4)',
        'yuy2: 2304x1536@2, 1920x1080@5, 1280x720@10 7.5 5, 960x540@15 10 7.5 5, 640x480@30 24 20 15 10 7.5 5, 320x240@30 24 20 15 10 7.5 5',
        'mjpeg: 1920x1080@30 24 20 15 10 7.5 5, 1280x720@60 30 24 20 15 10 7.5 5, 640x480@30 24 20 15 10 7.5 5',
      ],
    ],
  },
  {
    title: 'a webcam that encodes H.264 and H.265 on a node of its own',
    listing: 'uvc-onboard-h264',
    cameras: [
      [
        '/dev/video0+/dev/video2 H264 USB Camera: USB Camera (uvcvideo, usb-0000:00:14.0-3, H264_USB_Camera_SN0001)',
        'mjpeg: 1920x1080@30 25 15, 1280x720@30 25 15',
        'yuy2: 1280x720@9, 640x480@30 25 15',
        'h264: 1920x1080@30 25 15, 1280x720@30 25 15, 640x480@30',
        'h265: 1920x1080@30',
      ],
    ],
  },
  {
    title: 'a CSI camera with stepwise sizes, without the codec and image processor nodes of the board',
    listing: 'raspberry-pi-csi',
    cameras: [
      [
        '/dev/video0 mmal service 16.1 (bm2835 mmal, platform:bcm2835-v4l2-0, null)',
        ...['i420', 'yuy2', 'rgb', 'nv12', 'bgrx', 'mjpeg', 'h264'].map((encoding) => `${encoding}: 32..2592/2x32..1944/2@1..90`),
      ],
    ],
  },
  {
    title: 'a capture card: ranged sizes, any rate, interlaced modes, and two channels that are separate cameras',
    listing: 'capture-card',
    cameras: [0, 1].map((channel) => [
      `/dev/video${channel} TW6869 Video (tw686x, PCI:0000:03:00.0, null)`,
      'nv12: 1..4096/1x1..2304/1@any',
      'uyvy: 1..4096/1x1..2304/1@any, 720x576@25, 360x576@25',
    ]),
  },
  {
    title: 'a thermal camera with 16 bit pixels and odd rates',
    listing: 'thermal',
    cameras: [
      [
        '/dev/video4 PureThermal (fw:v1.3.0): PureTh (uvcvideo, usb-0000:00:14.0-4, GroupGets_PureThermal_8003001b-5113-3437-3233-343834000000)',
        'gray16_le: 160x122@8.571, 160x120@9',
        'gray8: 160x120@9',
        'uyvy: 160x120@9',
        'bayer: 160x120@29.97',
      ],
    ],
  },
  {
    title: 'virtual cameras',
    listing: 'v4l2loopback',
    cameras: [
      ['/dev/video10 OBS Virtual Camera (v4l2 loopback, platform:v4l2loopback-010, null)', 'yuy2: 1280x720@30'],
      ['/dev/video11 Dummy video device (0x0001) (v4l2 loopback, platform:v4l2loopback-011, null)', 'i420: 2..8192/1x1..8192/1@0..1000'],
    ],
  },
  {
    title: 'a laptop where PipeWire lists the camera again, an infrared one only there, and libcamera ones without a device path',
    listing: 'pipewire-and-v4l2',
    cameras: [
      [
        '/dev/video0 Integrated Camera: Integrated C (uvcvideo, usb-0000:00:14.0-8, Chicony_Integrated_Camera_0001)',
        'mjpeg: 1920x1080@30, 1280x720@30',
        'yuy2: 640x480@30',
      ],
      ['/dev/video2 Infrared (V4L2) (null, null, null)', 'gray8: 640x360@30 15'],
    ],
  },
  {
    title: 'a webcam with a metadata node and nodes without formats',
    listing: 'metadata-node',
    cameras: [['/dev/video0 HD Pro Webcam C920 (uvcvideo, usb-0000:00:14.0-2, 046d_HD_Pro_Webcam_C920_A1B2C3D4)', 'mjpeg: 1280x720@30']],
  },
]

it.each(KINDS)('the listing of $title', ({ listing: name, cameras }) => {
  const listed = camerasIn(listing(name))
  expect(listed.map(summary)).toEqual(cameras)
  for (const camera of listed) expect(v.is(cameraCapabilitiesSchema, camera)).toBe(true)
})

describe('the output of the monitor', () => {
  it('reports the start, added devices and the names of removed ones', () => {
    const text = `Monitoring devices, waiting for devices to be removed or new devices to be added...\n\n${listing('v4l2loopback')}Device removed:\n\tname  : OBS Virtual Camera\n`
    const events = createMonitorParser().push(text)
    const names = events.map((event) => (event.type === 'added' ? event.device.name : Object.values(event).join(' ')))
    expect(names).toEqual(['started', 'OBS Virtual Camera', 'Dummy video device (0x0001)', 'removed OBS Virtual Camera'])
  })

  it('is parsed the same for chunks of any size', () => {
    for (const name of LISTINGS) {
      const text = listing(name)
      const whole = createMonitorParser().push(text)
      for (const length of [1, 7, 61]) {
        const parser = createMonitorParser()
        const pieces = Array.from({ length: Math.ceil(text.length / length) }, (_, at) => text.slice(at * length, (at + 1) * length))
        expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(whole)
      }
    }
  })

  it('yields no truncated device', () => {
    const text = listing('uvc-onboard-h264')
    const whole = devicesIn(createMonitorParser().push(text))
    for (let length = 0; length <= text.length; length += 1) {
      const cut = devicesIn(createMonitorParser().push(text.slice(0, length)))
      expect(cut).toEqual(whole.slice(0, cut.length))
    }
  })

  it('may contain control characters, which are removed from names', () => {
    const text = listing('v4l2loopback').replace('OBS Virtual', '\u001b[31mOBS\u0000\u0085 Virtual')
    const [device] = devicesIn(createMonitorParser().push(text))
    expect(device?.name).toBe('[31mOBS Virtual Camera')
  })

  it('yields only paths of video devices', () => {
    for (const path of ['/etc/passwd', '/dev/../etc/passwd', '/dev/video0;reboot', '/dev/video', 'video0']) {
      expect(camerasIn(listing('uvc-webcam').replace('device.path = /dev/video0', `device.path = ${path}`))).toEqual([])
    }
  })

  it('is parsed in bounded memory: endless lines, endless devices and huge lists of sizes', () => {
    const parser = createMonitorParser()
    for (let round = 0; round < 200; round += 1) expect(parser.push('x'.repeat(100_000))).toEqual([])
    expect(devicesIn(parser.push(`\n${listing('uvc-webcam')}`))).toHaveLength(1)

    const numbers = Array.from({ length: 1000 }, (_, at) => `(int)${at + 1}`).join(', ')
    const greedy = listing('uvc-webcam').replace('width=2304, height=1536', `width={ ${numbers} }, height={ ${numbers} }`)
    const endless = greedy.replace(/(\t {8}.*\n)/, (line) =>
      Array.from({ length: 5000 }, (_, at) => line.replace('=YUY2', `=F${at}`)).join(''),
    )
    const [camera] = camerasIn(endless)
    expect(camera?.formats).toHaveLength(64)
    for (const format of camera?.formats ?? []) expect(format.sizes.length).toBeLessThanOrEqual(512)
  })
})

describe('a corrupted listing', () => {
  const SHREDS = ['\n', '\t', '\0', ': ', 'Device found:\n', ...'{ } [ ] " \\ , = / 0 -1 2147483648 1e9 (fraction) NaN 4/0'.split(' ')]

  it('yields valid cameras or none, never an error', () => {
    for (let seed = 1; seed <= 400; seed += 1) {
      const { integer: below } = createRandom(seed)
      let text = listing(LISTINGS[below(LISTINGS.length)] ?? '')
      for (let corruption = 0; corruption < 1 + below(30); corruption += 1) {
        const at = below(text.length)
        text = text.slice(0, at) + (SHREDS[below(SHREDS.length)] ?? '') + text.slice(at + below(12))
      }
      for (const camera of camerasIn(text)) {
        const checked = v.safeParse(cameraCapabilitiesSchema, camera)
        expect(checked.success ? [] : checked.issues.map(({ message }) => message), `seed ${seed}`).toEqual([])
        expect(camera.device_path).toMatch(/^\/dev\/video\d+$/)
      }
    }
  })
})

describe('v4l2-ctl --info', () => {
  it('has driver and bus, named as in PipeWire', () => {
    const output =
      'Driver Info:\n\tDriver name      : uvcvideo\n\tCard type        : Cam\n\tBus info         : usb-0000:00:14.0-1\n\tDriver version   : 6.6.18\nMedia Driver Info:\n\tDriver name      : other\n'
    expect([...parseV4l2Info(output)]).toEqual([
      ['api.v4l2.cap.driver', 'uvcvideo'],
      ['api.v4l2.cap.bus_info', 'usb-0000:00:14.0-1'],
    ])
    expect([...parseV4l2Info('Cannot open device /dev/video9, exiting.\n')]).toEqual([])
  })
})
