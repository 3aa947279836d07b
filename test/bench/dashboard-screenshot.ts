/** Makes the picture of the README, docs/images/overview.png, from a running service. */
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { chromium } from 'playwright-core'
import { sleep } from '../helpers/bench/measure.ts'
import { createPipeline, withService } from '../helpers/bench/service-run.ts'

const FILE = resolve(import.meta.dirname, '../../docs/images/overview.png')
const SIZE = 'width=640&height=360&fps=15'
const KLV = { pass_klv: true, auto_extract_geolocation: true }

/** What the picture shows: what a test source can show, and one of each state. */
const PIPELINES = [
  { id: 'drone-1', source: { uri: `test://smpte?${SIZE}&klv=1` }, klv_config: KLV },
  { id: 'gate', source: { uri: `test://ball?${SIZE}` }, encoding: { codec: 'h264', bitrate: 1500, width: 1280, height: 720, fps: 15 } },
  { id: 'parking', on_demand: true, source: { uri: 'rtsp://10.0.0.6/stream1' } },
  {
    id: 'studio',
    mode: 'advanced',
    raw_pipeline:
      'videotestsrc is-live=true pattern=zone-plate kx2=20 ky2=20 kt=1 ! video/x-raw,width=640,height=360,framerate=15/1 ! x264enc tune=zerolatency key-int-max=30 ! rtph264pay name=pay0',
  },
]
/** Until the lines have something to show, and every picture is there. */
const WATCH_MS = 45_000

await withService(async (service) => {
  for (const pipeline of PIPELINES) await createPipeline(service, pipeline)
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
  const page = await browser.newPage({ viewport: { width: 1280, height: 560 } })
  await page.goto(`${service.url}/`)
  await sleep(WATCH_MS)
  await page.screenshot({ path: FILE })
  await browser.close()
})
// 256 colors are enough, and a third of the size.
execFileSync('ffmpeg', ['-v', 'error', '-y', '-i', FILE, '-vf', 'split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=none', `${FILE}.png`])
execFileSync('mv', [`${FILE}.png`, FILE])
console.log(JSON.stringify({ file: FILE, bytes: statSync(FILE).size }))
