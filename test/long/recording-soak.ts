/**
 * Records 4 pipelines for a long time and compares every picture on the disk with the file that the cameras play: none may be missing,
 * doubled or changed, and each recording has to be one span. recording-soak [SECONDS = 7200]; a few per cent of a core.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep, startServer } from '../helpers/bench/measure.ts'
import { withService } from '../helpers/bench/service-run.ts'
import { picturesOf } from '../helpers/media/transport-stream.ts'
import { freePort } from '../helpers/ports.ts'
import type { Service } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const seconds = Number(process.argv[2] ?? 7200)
const FPS = 25
/** The cameras play a minute again and again. */
const LOOP_SECONDS = 60
const LOOP = LOOP_SECONDS * FPS
const SPARE_SECONDS = 120
const IDS = [0, 1, 2, 3].map((at) => `bench-${at}`)

/** The slices of each picture: parameter sets and delimiters are not the source's alone. */
const slicesOf = (bytes: Buffer): readonly string[] =>
  picturesOf(bytes).map(({ data }) => {
    let at = data.indexOf(START_CODE)
    while (at !== -1 && ![1, 5].includes((data[at + 3] ?? 0) & 0x1f)) at = data.indexOf(START_CODE, at + 3)
    return createHash('sha256').update(data.subarray(at)).digest('hex')
  })
const START_CODE = Buffer.from([0, 0, 1])

const recordings = async (service: Service) => (await service.request('GET', '/svc/recordings?limit=1000')).body

const judge = async (service: Service, id: string, numbers: ReadonlyMap<string, number>): Promise<number> => {
  const files = globSync(join(service.dataDir, 'recordings', id, '*', '*.ts')).sort()
  const found = files.flatMap((file) => slicesOf(readFileSync(file)).map((hash) => numbers.get(hash) ?? Number.NaN))
  const wrong = found.flatMap((number, at) => (at > 0 && number !== ((found[at - 1] ?? 0) + 1) % LOOP ? [at] : []))
  assert.deepEqual(wrong, [], `${id} has pictures that are not those of the source`)
  const spans = (await recordings(service)).filter(({ pipeline_id }: { pipeline_id: string }) => pipeline_id === id)
  assert.equal(spans.length, 1, `${id} has ${spans.length} spans`)
  const lasted = (Date.parse(spans[0].to) - Date.parse(spans[0].from)) / 1000
  // Whole loops that are missing would not show above.
  assert(Math.abs(found.length - lasted * FPS) < FPS && lasted > seconds - 5, `${id}: ${found.length} pictures in ${lasted} s`)
  return found.length
}

const folder = mkdtempSync(join(tmpdir(), 'recording-soak-'))
const [loop, film] = [join(folder, 'loop.ts'), join(folder, 'film.ts')]
const picture = `testsrc2=size=160x120:rate=${FPS}`
const coding = `-t ${LOOP_SECONDS} -c:v libx264 -preset ultrafast -tune zerolatency -threads 1 -g ${2 * FPS} -b:v 100k -pix_fmt yuv420p -f mpegts`
execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', picture, ...coding.split(' '), loop])
const loops = Math.ceil((seconds + SPARE_SECONDS) / LOOP_SECONDS)
execFileSync('ffmpeg', ['-v', 'error', '-stream_loop', String(loops), '-i', loop, '-c', 'copy', '-f', 'mpegts', film])
const numbers = new Map(slicesOf(readFileSync(loop)).map((hash, number) => [hash, number]))
assert.equal(numbers.size, LOOP, 'every picture is another')

const server = await startServer(
  'gst-rtsp-server',
  await freePort(),
  `filesrc location=${film} ! tsdemux ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=-1`,
  IDS.length,
)
try {
  await withService(async (service) => {
    for (const id of IDS) {
      const uri = server.url.replace('bench', id)
      assert.equal((await service.request('POST', '/svc/pipeline', { id, source: { uri, latency_ms: 0 } })).status, 201)
      assert.equal((await service.request('PUT', `/svc/pipeline/${id}/recording/start`)).status, 200)
    }
    const lasts = async () => (await recordings(service)).length
    await until(lasts, (count) => count === IDS.length)
    await sleep(seconds * 1000)
    for (const id of IDS) assert.equal((await service.request('PUT', `/svc/pipeline/${id}/recording/stop`)).status, 200)
    for (const id of IDS) process.stdout.write(`${id}: ${await judge(service, id, numbers)} pictures, each of the source's, in one span\n`)
  })
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
