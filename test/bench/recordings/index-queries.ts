/**
 * What a large archive answers, of an index that a script makes: segments of 4 s without a gap, but for 20 losses of the source a day, and a
 * footprint each second that moves, in a part of the time. Times of spans, `covers`, the plan and first byte of a range of an hour. index-queries [DAYS = 1] [CAMERAS = 20] [FLYING = 1] [ROUNDS = 30] [FOLDER]: keeps
 * the index there, and uses it the next time.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openIndex } from '../../../db/recordings/open-index.ts'
import { Playback } from '../../../engine/recordings/playback/playback.ts'
import type { Recordings } from '../../../engine/recordings/recordings.ts'
import { SegmentIndex } from '../../../engine/recordings/segment-index.ts'
import { segmentPlace } from '../../../lib/segments/segment-name.ts'
import { quantile } from '../../helpers/bench/measure.ts'
import { silentLog } from '../../helpers/rtsp/media.ts'

const [days = 1, cameras = 20, flying = 1, rounds = 30] = process.argv.slice(2).map(Number)
const DAY_MS = 86_400_000
const SEGMENT_MS = 4000
const PER_DAY = DAY_MS / SEGMENT_MS
const LOSSES = 20
const BEGIN = Date.parse('2026-11-01T00:00:00Z')
const SECONDS = 86_400
const EPOCH = 1_577_836_800
const HOUR = 3_600_000
const SECTOR = { latitude: 48, longitude: 11, degrees: 1 }

const [, , , , , , kept] = process.argv
const folder = kept ?? mkdtempSync(join(tmpdir(), 'bench-index-'))
mkdirSync(folder, { recursive: true })
const isMade = existsSync(join(folder, 'index.db'))
const clip = join(folder, 'clip.ts')
const source = 'testsrc2=size=1280x720:rate=25'
const coding = '-t 4 -c:v libx264 -preset ultrafast -b:v 4M -minrate 4M -maxrate 4M -bufsize 4M -g 100 -pix_fmt yuv420p -f mpegts'
if (!isMade) execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', source, ...coding.split(' '), clip])
const { size } = statSync(clip)

/** One statement a day makes its rows: the tables are those of the product. */
const fill = async (): Promise<void> => {
  const client = await openIndex(pathToFileURL(join(folder, 'index.db')).href)
  if (client === false) throw new Error('no index')
  const numbers = (count: number) => `WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ${count - 1})`
  const perSpan = PER_DAY / LOSSES
  for (let camera = 0; camera < cameras; camera += 1) {
    const id = `'camera-${camera}'`
    await client.execute(`${numbers(days * PER_DAY)} INSERT INTO segments SELECT ${id}, ${BEGIN} + n * ${SEGMENT_MS} + ${camera},
      ${BEGIN} + (n + 1) * ${SEGMENT_MS} + ${camera} - iif(n % ${perSpan} = ${perSpan - 1}, 500, 0), ${size}, ${size} * (n % ${perSpan}), '["h264","klv"]', 'avc1.42C01F 1280x720',
      ${BEGIN} + (n / ${perSpan}) * ${perSpan * SEGMENT_MS} + ${camera}, 'run', 126000, '{"256":4}' FROM n`)
    await client.execute(`INSERT INTO spans SELECT pipeline_id, span, min(started_at), max(ended_at), sum(bytes), max(tracks) FROM segments
      WHERE pipeline_id = ${id} GROUP BY span`)
    // A circle of 20 km, with a footprint of some 500 m.
    const seconds = `SELECT *, (n / ${Math.round(SECONDS * flying)}) * ${SECONDS} + n % ${Math.round(SECONDS * flying)} AS second FROM n`
    const box = `SELECT second, ${SECTOR.latitude} + ${camera} * 0.04 + 0.1 * sin(second / 300.0) AS lat, ${SECTOR.longitude} + 0.15 * cos(second / 300.0) AS lon FROM (${seconds})`
    await client.execute(`${numbers(Math.round(days * SECONDS * flying))} INSERT INTO seen (south, north, west, east, first_second, last_second, pipeline_id)
      SELECT CAST(1e6 * (lat - 0.0025) AS INTEGER), CAST(1e6 * (lat + 0.0025) AS INTEGER), CAST(1e6 * (lon - 0.0035) AS INTEGER), CAST(1e6 * (lon + 0.0035) AS INTEGER),
      ${BEGIN / 1000 - EPOCH} + second, ${BEGIN / 1000 - EPOCH} + second, ${id} FROM (${box})`)
    process.stderr.write(`\r${id} `)
  }
  client.close()
}

/** The files of the hour that is read: one clip under many names. */
const linkHour = (at: number): void => {
  for (let begin = at; begin < at + HOUR + 2 * SEGMENT_MS; begin += SEGMENT_MS) {
    const { day, name } = segmentPlace(begin)
    mkdirSync(join(folder, 'camera-0', day), { recursive: true })
    linkSync(clip, join(folder, 'camera-0', day, name))
  }
}

const timed = async (work: (round: number) => Promise<unknown>): Promise<string> => {
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const began = performance.now()
    await work(round)
    times.push(performance.now() - began)
  }
  const [median, worst] = [quantile(times, 0.5), quantile(times, 0.95)]
  return `${median.toFixed(1)} ms (95 %: ${worst.toFixed(1)})`
}

// The thread of the index does not keep the process.
const alive = setInterval(() => {}, 60_000)
try {
  const began = performance.now()
  if (!isMade) await fill()
  const megabytes = Math.round(statSync(join(folder, 'index.db')).size / 1e6)
  process.stderr.write(`\rmade in ${Math.round((performance.now() - began) / 1000)} s, ${megabytes} MB\n`)
  const index = new SegmentIndex(folder, silentLog)
  await index.open()
  const fileOf = (id: string, at: number): string => join(folder, id, segmentPlace(at).day, segmentPlace(at).name)
  const playback = new Playback({
    fileOf,
    open: async () => {},
    segments: (id: string, from: number, to: number) => index.segments(id, from, to),
  } as unknown as Recordings)
  const END = BEGIN + days * DAY_MS
  const all = { from: BEGIN, to: END, before: Number.MAX_SAFE_INTEGER, limit: 1000 }
  const places = Array.from({ length: rounds }, (_, round) => ({
    latitude: SECTOR.latitude + (round % cameras) * 0.04 + 0.1 * Math.sin(round / 3),
    longitude: SECTOR.longitude + 0.15 * Math.cos(round / 3),
  }))
  let found = 0
  const report: Record<string, string> = {
    'spans of all cameras': await timed(() => index.ask('spans', all, [])),
    'spans of one camera': await timed((round) => index.ask('spans', { ...all, pipelineId: `camera-${round % cameras}` }, [])),
    'spans of an hour': await timed((round) =>
      index.ask('spans', { ...all, from: BEGIN + (round * HOUR) / 2, to: BEGIN + (round * HOUR) / 2 + HOUR }, []),
    ),
    'covers, all cameras': await timed(async (round) => {
      found += (await index.ask('spans', all, [], places[round])).length
    }),
    'covers, one camera': await timed((round) =>
      index.ask('spans', { ...all, pipelineId: `camera-${round % cameras}` }, [], places[round]),
    ),
  }
  const hour = BEGIN + (days - 1) * DAY_MS + 10 * HOUR
  if (!isMade) linkHour(hour)
  const range = { from: hour + 1500, to: hour + HOUR }
  report['first byte of an hour as MPEG-TS'] = await timed(async () => {
    const { read } = await playback.range('camera-0', range)
    for await (const _chunk of read({ first: 0, last: 65_535 })) break
  })
  report['first byte of an hour as MP4'] = await timed(async () => {
    const { read } = await playback.movie('camera-0', range)
    for await (const _chunk of read({ first: 0, last: 65_535 })) break
  })
  process.stdout.write(`${days} days of ${cameras} cameras, index of ${megabytes} MB; ${Math.round(found / rounds)} spans a place\n`)
  for (const [name, value] of Object.entries(report)) process.stdout.write(`${name.padEnd(36)} ${value}\n`)
  await index.close()
} finally {
  clearInterval(alive)
  if (kept === undefined) rmSync(folder, { recursive: true, force: true })
}
