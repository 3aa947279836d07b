import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { segmentTime } from '../../../lib/segments/segment-name.ts'
import { counterGaps, klvOf } from '../../helpers/media/transport-stream.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { until } from '../../helpers/until.ts'

const run = promisify(execFile)

const BALL = { uri: 'test://ball?width=160&height=120&fps=25&klv=1&audio=1' }

const recordingOf = async ({ request }: Service, id: string) => (await request('GET', `/svc/pipeline/${id}`)).body.recording

/** The segments of a pipeline, the oldest first, with their sizes. */
const segmentsOf = (dataDir: string, id: string) => {
  const folder = join(dataDir, 'recordings', id)
  const days = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const files = days.flatMap(({ name }) => readdirSync(join(folder, name)).map((file) => ({ path: join(folder, name, file), name: file })))
  return files
    .map((file) => ({ ...file, bytes: statSync(file.path).size, at: segmentTime(file.name) ?? Number.NaN }))
    .sort((a, b) => a.at - b.at)
}

const chainOf = (dataDir: string, id: string): readonly { readonly segment: string; readonly bytes: number }[] => {
  const folder = join(dataDir, 'recordings', id)
  if (!existsSync(folder)) return []
  const files = readdirSync(folder).filter((name) => name.endsWith('.chain'))
  return files.sort().flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .trimEnd()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  )
}

/** Frames that ffmpeg decodes from a file; it must not complain. */
const frames = async (file: string): Promise<number> => {
  const { stdout, stderr } = await run('ffprobe', [
    '-v',
    'error',
    '-count_frames',
    '-select_streams',
    'v',
    '-show_entries',
    'stream=nb_read_frames',
    '-of',
    'csv=p=0',
    file,
  ])
  expect(stderr).toBe('')
  return Number.parseInt(stdout, 10)
}

const codecsOf = async (file: string): Promise<readonly string[]> => {
  const { stdout } = await run('ffprobe', ['-v', 'error', '-show_entries', 'stream=codec_name', '-of', 'csv=p=0', file])
  return stdout.trim().split('\n')
}

it('records what a pipeline serves, and loses less than a second when the engine is killed', { timeout: 60_000 }, async () => {
  const dataDir = temporaryDataDir()
  const service = await startService({ dataDir })
  await service.request('PUT', '/svc/settings', { recordings: { segment_seconds: 1 } })
  await service.request('POST', '/svc/pipeline', { id: 'gate', source: BALL, audio: 'aac', klv_config: { pass_klv: true } })
  const askedAt = Date.now()
  expect((await service.request('PUT', '/svc/pipeline/gate/recording/start')).status).toBe(200)
  await until(
    () => chainOf(dataDir, 'gate').length,
    (length) => length >= 2,
  )
  expect((await recordingOf(service, 'gate')).state).toBe('recording')

  const killedAt = Date.now()
  process.kill(service.enginePid(), 'SIGKILL')
  await until(
    () => segmentsOf(dataDir, 'gate').some(({ at }) => at > killedAt),
    (recorded) => recorded,
  )
  await until(
    () => recordingOf(service, 'gate'),
    ({ state }) => state === 'recording',
  )
  // What was recorded before the kill and after it.
  const listed = async () => (await service.request('GET', '/svc/recordings?pipeline_id=gate')).body
  const lengthOf = ({ from, to }: { from: string; to: string }): number => Date.parse(to) - Date.parse(from)
  const spans = await until(listed, (found) => found.length === 2 && lengthOf(found[0]) > 2000)
  // What is newer may still be written.
  const range = `from=${spans[1].from}&to=${new Date(Date.parse(spans[0].to) - 1000).toISOString()}`
  for (const [name, type] of [
    ['recording.ts', 'video/mp2t'],
    ['recording.mp4', 'video/mp4'],
  ] as const) {
    const answer = await fetch(`${service.url}/svc/pipeline/gate/${name}?${range}`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type])
    const file = join(dataDir, name)
    writeFileSync(file, await answer.bytes())
    expect(await frames(file)).toBeGreaterThan(50)
    expect(await codecsOf(file)).toEqual(expect.arrayContaining(['h264', 'aac']))
    const bytes = readFileSync(file)
    const head = await fetch(`${service.url}/svc/pipeline/gate/${name}?${range}`, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length'), head.headers.get('accept-ranges')]).toEqual([200, `${bytes.length}`, 'bytes'])
    for (const [first, last] of [
      [0, 99],
      [bytes.length - 300_000, bytes.length - 200_001],
      [bytes.length - 1, bytes.length - 1],
    ] as const) {
      const part = await fetch(`${service.url}/svc/pipeline/gate/${name}?${range}`, { headers: { range: `bytes=${first}-${last}` } })
      expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes ${first}-${last}/${bytes.length}`])
      expect(Buffer.compare(await part.bytes(), bytes.subarray(first, last + 1))).toBe(0)
    }
  }
  expect(counterGaps(readFileSync(join(dataDir, 'recording.ts')))).toBe(0)

  await service.request('PUT', '/svc/pipeline/gate/stop')
  expect((await recordingOf(service, 'gate')).state).toBe('waiting')
  await service.stop()

  const segments = segmentsOf(dataDir, 'gate')
  // The cached GOP is recorded too, with the time of its arrival.
  expect(segments[0]?.at).toBeLessThan(askedAt)
  const chain = chainOf(dataDir, 'gate')
  expect(chain.map(({ segment, bytes }) => [segment, bytes])).toEqual(segments.map(({ name, bytes }) => [name, bytes]))
  const last = segments.findLast(({ at }) => at < killedAt)
  for (const { path, at } of segments) {
    const bytes = readFileSync(path)
    expect([bytes.length % 188, counterGaps(bytes)]).toEqual([0, 0])
    const count = await frames(path)
    if (path === last?.path) expect(at + count * 40).toBeGreaterThan(killedAt - 1000)
  }
  expect(klvOf(readFileSync(segments[1]?.path ?? '')).length).toBeGreaterThan(0)
  expect(statSync(segments[0]?.path ?? '').mode & 0o077).toBe(0)
})
