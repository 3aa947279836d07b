/** Makes the pictures of the README in docs/images from a running service, with cameras and drones over a made-up landscape. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { encodePacket } from '../../../lib/st0601/encode.ts'
import { sleep } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { launchChromium } from '../../helpers/browser/chromium.ts'
import { drawLandscape, type View } from '../../helpers/browser/landscape.ts'
import { startTsKlvSender } from '../../helpers/klv/ts-sender.ts'
import { freePort } from '../../helpers/ports.ts'
import type { Service } from '../../helpers/process/service.ts'

const IMAGES = resolve(import.meta.dirname, '../../../docs/images')
const SERVER = resolve(import.meta.dirname, '../../fixtures/gst-rtsp-server.py')
const FPS = 15
const WIDTH = 1280
/** The place of a scroll bar, which the pictures leave out. */
const GUTTER = 15
const FRAMES = 45
const SIZE = [2560, 1440] as const
/** Until charts and tracks have something to show, and every picture is there. */
const WATCH_MS = 60_000

/** From a mast: what is near is large. */
const OBLIQUE = 'perspective=x0=0:y0=0:x1=2560:y1=0:x2=800:y2=1440:x3=1760:y3=1440'
interface Scene {
  readonly view: Omit<View, 'size'>
  readonly filter: string
}

/** What each sees; the filter makes it a moving picture. */
const SCENES: Readonly<Record<string, Scene>> = {
  'drone-1': { view: { at: [0.5, 0.455], span: 0.19, turn: 30 }, filter: "crop=2400:1350:x='n':y='n/2'" },
  'drone-2': { view: { at: [0.2, 0.29], span: 0.22, turn: -75 }, filter: "crop=2400:1350:x='n':y='n/2'" },
  'drone-3': { view: { at: [0.8, 0.55], span: 0.22, turn: 130 }, filter: "crop=2400:1350:x='n':y='n/2'" },
  bridge: { view: { at: [0.545, 0.56], span: 0.2, turn: -38 }, filter: `${OBLIQUE},noise=alls=2:allf=t` },
  farm: { view: { at: [0.31, 0.32], span: 0.2, turn: 160 }, filter: `${OBLIQUE},noise=alls=2:allf=t` },
  village: { view: { at: [0.625, 0.34], span: 0.2, turn: 80 }, filter: `${OBLIQUE},noise=alls=2:allf=t` },
}

/** The map of the landscape: its middle, and how many tiles of a zoom it covers. */
const MIDDLE = { latitude: -27.6, longitude: -48.5 }
const ZOOM = 15
const TILES = { across: 5, down: 3.5 }
const DEGREES_PER_TILE = 360 / 2 ** ZOOM
const COSINE = Math.cos((MIDDLE.latitude * Math.PI) / 180)
const METERS_PER_DEGREE = 111_320

const placeOf = ([x, y]: View['at']) => ({
  latitude: MIDDLE.latitude - (y - 0.5) * TILES.down * DEGREES_PER_TILE * COSINE,
  longitude: MIDDLE.longitude + (x - 0.5) * TILES.across * DEGREES_PER_TILE,
})

/** The tiles of the map by their path. */
const drawTiles = async (page: Page): Promise<ReadonlyMap<string, Buffer>> => {
  const mercator = Math.asinh(Math.tan((MIDDLE.latitude * Math.PI) / 180)) / Math.PI
  const [middleX, middleY] = [(MIDDLE.longitude / 360 + 0.5) * 2 ** ZOOM, (0.5 - mercator / 2) * 2 ** ZOOM]
  const tiles = new Map<string, Buffer>()
  for (let x = Math.floor(middleX - TILES.across / 2); x <= middleX + TILES.across / 2; x += 1)
    for (let y = Math.floor(middleY - TILES.down / 2); y <= middleY + TILES.down / 2; y += 1) {
      const at = [0.5 + (x + 0.5 - middleX) / TILES.across, 0.5 + (y + 0.5 - middleY) / TILES.down] as const
      tiles.set(`/${ZOOM}/${x}/${y}.png`, await draw(page, { at, span: 1 / TILES.across, turn: 0, size: [256, 256] }))
    }
  return tiles
}

interface Patrol {
  readonly centre: View['at']
  /** Metres. */
  readonly radius: number
  /** Where it begins, in radians. */
  readonly phase: number
}

const PATROLS: Readonly<Record<string, Patrol>> = {
  'drone-1': { centre: [0.46, 0.44], radius: 380, phase: 0 },
  'drone-2': { centre: [0.2, 0.64], radius: 330, phase: 2 },
  'drone-3': { centre: [0.81, 0.5], radius: 400, phase: 4 },
}

/** ST 0601 of a drone that circles clockwise and looks ahead of itself. */
const patrolPacket = ({ centre, radius, phase }: Patrol): Uint8Array => {
  const { latitude, longitude } = placeOf(centre)
  const seconds = Date.now() / 1000
  const angle = phase + (seconds * 30) / radius
  const from = (north: number, east: number): [latitude: number, longitude: number] => [
    latitude + north / METERS_PER_DEGREE,
    longitude + east / METERS_PER_DEGREE / COSINE,
  ]
  const [north, east] = [radius * Math.cos(angle), radius * Math.sin(angle)]
  const [y, x] = [-Math.sin(angle), Math.cos(angle)]
  const ahead = (forward: number, right = 0) => from(north + forward * y - right * x, east + forward * x + right * y)
  const heading = (((angle * 180) / Math.PI + 90) % 360) + (angle < 0 ? 360 : 0)
  const [own, target] = [from(north, east), ahead(250)]
  const corners = [ahead(400, -160), ahead(400, 160), ahead(140, 100), ahead(140, -100)].flat()
  return encodePacket([
    [2, Date.now() * 1000],
    [65, 19],
    [5, heading],
    [6, 2 * Math.sin(seconds / 9)],
    [7, 18 + Math.sin(seconds / 4)],
    [13, own[0]],
    [14, own[1]],
    [15, 420 + 10 * Math.sin(seconds / 30)],
    [16, 38],
    [21, 490],
    [23, target[0]],
    [24, target[1]],
    ...corners.map((degrees, at) => [82 + at, degrees] as const),
  ])
}

const draw = async (page: Page, view: View): Promise<Buffer> =>
  Buffer.from((await page.evaluate(drawLandscape, view)).replace(/^[^,]*,/, ''), 'base64')

/** The start of an access unit: a start code, and the NAL unit type of an access unit delimiter. */
const DELIMITER = '\0\0\0\x01\x09'

/** Films a scene, an access unit a file; answers the elements that play it. */
const film = async (page: Page, folder: string, name: string, { view, filter }: Scene): Promise<string> => {
  const place = join(folder, name)
  mkdirSync(place)
  writeFileSync(join(place, 'scene.png'), await draw(page, { ...view, size: SIZE }))
  const input = ['-loop', '1', '-framerate', String(FPS), '-i', join(place, 'scene.png')]
  const encoding = [
    '-c:v',
    'libx264',
    '-b:v',
    '2M',
    '-bf',
    '0',
    '-g',
    '30',
    '-x264-params',
    'aud=1:repeat-headers=1',
    '-pix_fmt',
    'yuv420p',
  ]
  const output = ['-frames:v', String(FRAMES), '-f', 'h264', join(place, 'film.h264')]
  execFileSync('ffmpeg', ['-v', 'error', ...input, '-vf', `${filter},scale=1280:720,gblur=0.4`, ...encoding, ...output])
  const units = readFileSync(join(place, 'film.h264'), 'latin1').split(DELIMITER).slice(1)
  for (const [at, unit] of units.entries()) writeFileSync(join(place, `${at}.h264`), `${DELIMITER}${unit}`, 'latin1')
  const caps = `video/x-h264,stream-format=byte-stream,alignment=au,framerate=${FPS}/1`
  return `multifilesrc location=${place}/%d.h264 stop-index=${units.length - 1} loop=true caps=${caps} ! identity sync=true`
}

/** A camera; answers its address and what ends it. */
const startCamera = async (name: string, video: string) => {
  const port = await freePort()
  const child = spawn('/usr/bin/python3', [SERVER, String(port), name, `${video} ! h264parse ! rtph264pay name=pay0`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return { uri: `rtsp://127.0.0.1:${port}/${name}`, stop: () => child.kill('SIGKILL') }
}

/** 128 colors are enough, and a quarter of the size. */
const save = async (page: Page, name: string): Promise<void> => {
  const file = join(IMAGES, `${name}.png`)
  writeFileSync(
    `${file}.large`,
    await page.screenshot({ clip: { x: 0, y: 0, width: WIDTH, height: page.viewportSize()?.height ?? WIDTH } }),
  )
  const palette = 'split[a][b];[a]palettegen=max_colors=128[p];[b][p]paletteuse=dither=none'
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-i', `${file}.large`, '-vf', palette, file])
  rmSync(`${file}.large`)
  console.log(JSON.stringify({ file, bytes: statSync(file).size }))
}

const KLV = { pass_klv: true, auto_extract_geolocation: true }
const SMALL = { codec: 'h264', bitrate: 800, width: 640, height: 360, fps: 15 }

/** Cameras with a position, drones, one that nobody reads, and one that is away. */
const createPipelines = async (service: Service, sources: ReadonlyMap<string, string>, awayUri: string): Promise<void> => {
  const at = (name: string, heading: number) => ({ ...placeOf(SCENES[name]?.view.at ?? [0.5, 0.5]), altitude: 30, heading })
  const of = (name: string) => ({ id: name, source: { uri: sources.get(name) ?? '' } })
  for (const name of ['drone-1', 'drone-2', 'drone-3']) await createPipeline(service, { ...of(name), klv_config: KLV })
  await createPipeline(service, { ...of('bridge'), geolocation: at('bridge', 38), output: { uri: 'rtsp://0.0.0.0:8554/bridge' } })
  await createPipeline(service, { ...of('farm'), geolocation: at('farm', 200) })
  await createPipeline(service, { ...of('village'), geolocation: at('village', 280), encoding: SMALL })
  await createPipeline(service, { id: 'parking', on_demand: true, source: { uri: 'rtsp://10.0.0.6/stream1' } })
  await createPipeline(service, { id: 'workshop', source: { uri: awayUri } })
}

const takePictures = async (service: Service, page: Page): Promise<void> => {
  await page.setViewportSize({ width: WIDTH + GUTTER, height: 915 })
  await page.goto(`${service.url}/`)
  await sleep(WATCH_MS / 3)
  await save(page, 'overview')
  await page.setViewportSize({ width: WIDTH + GUTTER, height: 960 })
  await page.goto(`${service.url}/svc/dashboard/#/pipeline/drone-1`)
  await sleep(WATCH_MS / 3)
  await save(page, 'pipeline')
  await page.setViewportSize({ width: WIDTH + GUTTER, height: 720 })
  await page.goto(`${service.url}/svc/dashboard/#/map`)
  for (const _ of [13, 14]) await page.getByRole('button', { name: 'Zoom in' }).click()
  await sleep(WATCH_MS)
  await save(page, 'map')
}

const folder = mkdtempSync(join(tmpdir(), 'pictures-'))
const browser = await launchChromium({ whole: true })
const ends: (() => unknown)[] = [() => browser.close(), () => rmSync(folder, { recursive: true })]
try {
  const page = await browser.newPage()
  const sources = new Map<string, string>()
  for (const [name, scene] of Object.entries(SCENES)) {
    const video = await film(page, folder, name, scene)
    const patrol = PATROLS[name]
    const camera =
      patrol === undefined
        ? await startCamera(name, video)
        : await startTsKlvSender({ synchronous: false, fps: FPS, video, klv: () => patrolPacket(patrol) })
    sources.set(name, camera.uri)
    ends.push(camera.stop)
  }
  const away = await startCamera('workshop', 'videotestsrc is-live=true ! x264enc tune=zerolatency')
  ends.push(away.stop)
  const tiles = await drawTiles(page)
  await page.route('http://tiles.test/**', (route) => {
    const body = tiles.get(new URL(route.request().url()).pathname)
    return body === undefined ? route.abort() : route.fulfill({ contentType: 'image/png', body })
  })
  await withService(
    async (service) => {
      await createPipelines(service, sources, away.uri)
      away.stop()
      await takePictures(service, page)
    },
    { SVC_MAP_TILES: 'http://tiles.test/{z}/{x}/{y}.png' },
  )
} finally {
  for (const end of ends.reverse()) await end()
}
