import { execFileSync } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { TsMuxer } from '../../../../engine/mpegts/ts-muxer.ts'
import { GroundSeen } from '../../../../engine/recordings/ground-seen.ts'
import { PipelineFolder } from '../../../../engine/recordings/pipeline-folder.ts'
import { Playback } from '../../../../engine/recordings/playback/playback.ts'
import type { RecordingFault } from '../../../../engine/recordings/recording-fault.ts'
import { Recordings } from '../../../../engine/recordings/recordings.ts'
import { SegmentCutter } from '../../../../engine/recordings/segment-cutter.ts'
import { loadSigningKey } from '../../../../engine/recordings/signing-key.ts'
import { chainsAt, checkChain } from '../../../../handlers/cli/recordings/chain-check.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'
import { segmentPlace } from '../../../../lib/segments/segment-name.ts'
import { flightPacket } from '../../../../lib/st0601/synthetic-flight.ts'
import { counterGaps, pictureTimes } from '../../../helpers/media/transport-stream.ts'
import { temporaryDataDir } from '../../../helpers/process/temporary-data-dir.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'
import { until } from '../../../helpers/until.ts'

const BEGIN = Date.parse('2026-11-20T10:00:00Z')
const HOUR = 3_600_000
const FPS = 10
const TICKS = 90
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER, before: Number.MAX_SAFE_INTEGER, limit: 1000 }

const openStore = async (dataDir = temporaryDataDir()) => {
  const settings = { ...DEFAULT_SETTINGS.recordings, segment_seconds: 1, max_hours: 24 * 365 * 100, min_free_gigabytes: 0 }
  const clock = { now: BEGIN }
  const folder = join(dataDir, 'recordings')
  const options = { folder, dataDir, settings: () => settings, configured: () => true, now: () => clock.now, log: silentLog }
  const store = new Recordings(options)
  onTestFinished(() => store.close())
  await store.open()
  const spans = async () => (await store.spans({ pipelineId: 'gate', ...ALL })).map(({ from, to }) => [from, to]).toReversed()
  const holds = async () => {
    const key = createPublicKey(await store.publicKey())
    for (const chain of chainsAt(folder)) expect(await checkChain(chain, key)).toBeUndefined()
  }
  return { store, clock, dataDir, folder: join(folder, 'gate'), playback: new Playback(store), spans, holds, options }
}

type Store = Awaited<ReturnType<typeof openStore>>

/** A camera of 10 pictures a second with a key frame each half, whose arrival `clock` states. */
const camera = ({ store, clock }: Store, { klv = false } = {}) => {
  const muxer = new TsMuxer()
  const seen = new GroundSeen()
  const faults: RecordingFault[] = []
  const state = { frame: 0, format: 'avc1.640028 640x480' }
  const cutter = new SegmentCutter({
    ...{ id: 'gate', run: 'run', store, log: silentLog, now: () => clock.now },
    format: () => state.format,
    seen: () => seen.seen,
    takeSeen: () => seen.take(),
    onFault: (fault) => faults.push(fault),
    onWritten: () => {},
  })
  /** `lateMs`: how much later than its picture KLV comes. */
  const record = (seconds: number, { lateMs = 0 } = {}): void => {
    for (let picture = 0; picture < seconds * FPS; picture += 1) {
      const key = state.frame % (FPS / 2) === 0
      const dts = 900_000 + (state.frame * 1000 * TICKS) / FPS
      const tables = key ? [muxer.tables({ videoType: 0x1b, klv: klv ? 'asynchronous' : false, version: 0 })] : []
      const late = klv ? [muxer.klv(flightPacket(clock.now - lateMs), dts - lateMs * TICKS)] : []
      if (klv) seen.push(flightPacket(clock.now - lateMs), clock.now)
      const data = Buffer.alloc(400 + state.frame, state.frame % 256)
      cutter.push(Buffer.concat([...tables, ...late, muxer.video([data], { pts: dts, dts, key })]))
      state.frame += 1
      clock.now += 1000 / FPS
    }
  }
  return { record, state, faults, finish: () => cutter.finish(), cutter }
}

const bytesOf = async ({ bytes, read }: Awaited<ReturnType<Playback['range']>>): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of read({ first: 0, last: bytes - 1 })) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const rises = (bytes: Buffer): boolean => {
  const times = pictureTimes(bytes).map(({ dts }) => dts)
  return times.every((time, at) => at === 0 || time > (times[at - 1] ?? 0))
}

describe('a segment that is being written', () => {
  it('is listed and played as far as it is on the disk, and goes on in the same span', async () => {
    const kept = await openStore()
    const { record, cutter, finish } = camera(kept)
    const pictures = async (to: number) =>
      pictureTimes(await bytesOf(await kept.playback.range('gate', { from: BEGIN, to: BEGIN + to }))).length
    /** The disk gets what waits a few times a second. */
    const written = async (to: number) =>
      until(
        () => {
          cutter.tick()
          return kept.spans()
        },
        (spans) => spans.at(-1)?.[1] === BEGIN + to,
      )
    record(0.3)
    expect(await written(300)).toEqual([[BEGIN, BEGIN + 300]])
    expect(await pictures(1000)).toBe(3)
    record(1.2)
    expect(await written(1500)).toEqual([[BEGIN, BEGIN + 1500]])
    expect([await pictures(1000), await pictures(9000)]).toEqual([11, 15])
    expect(await kept.playback.playlist('gate', { from: BEGIN, to: BEGIN + 5000 })).toContain('#EXTINF:0.500,')
    await finish()
    expect(await kept.spans()).toEqual([[BEGIN, BEGIN + 1500]])
    expect(await pictures(9000)).toBe(15)
  })

  it('is found by what its camera sees', async () => {
    const kept = await openStore()
    const { record, cutter, finish } = camera(kept, { klv: true })
    // The centre of its circles.
    const place = { latitude: -27.6, longitude: -48.5 }
    const sawPlace = async () => (await kept.store.spans({ pipelineId: 'gate', ...ALL }, place)).map(({ from, to }) => [from, to])
    record(2.8)
    // The last file still grows.
    await until(
      () => {
        cutter.tick()
        return sawPlace()
      },
      ([span]) => span?.[1] === BEGIN + 2800,
    )
    record(1)
    await finish()
    expect(await sawPlace()).toEqual([[BEGIN + 1000, BEGIN + 3800]])
    expect(await kept.store.spans({ pipelineId: 'gate', ...ALL }, { latitude: 0, longitude: 0 })).toEqual([])
  })
})

it('ends with what it was asked before', async () => {
  const kept = await openStore()
  const { record, finish } = camera(kept, { klv: true })
  record(3)
  await finish()
  await kept.spans()
  const answers = Array.from({ length: 50 }, () => kept.store.index.ask('spans', ALL, [], { latitude: -27.6, longitude: -48.5 }))
  await kept.store.close()
  expect((await Promise.all(answers)).filter((spans) => spans.length === 1)).toHaveLength(50)
})

describe('recordings while something fails', () => {
  it('go on over a clock that is set forward and back: all of it is found, plays in its order, and the chain holds', async () => {
    const kept = await openStore()
    const { record, finish } = camera(kept)
    record(4)
    kept.clock.now += 3 * HOUR
    record(3)
    // Back into what was recorded already, and before all of it.
    kept.clock.now -= 3 * HOUR + 5037
    record(4)
    kept.clock.now -= 2 * HOUR
    record(2)
    await finish()
    expect((await kept.spans()).map(([from = 0, to = 0]) => to - from)).toEqual([2000, 4000, 4000, 3000])
    await kept.holds()
    const whole = await bytesOf(await kept.playback.range('gate', { from: BEGIN - 72 * HOUR, to: BEGIN + 72 * HOUR }))
    expect([pictureTimes(whole).length, counterGaps(whole), rises(whole)]).toEqual([130, 0, true])
    const twice = await bytesOf(await kept.playback.range('gate', { from: BEGIN + 2000, to: BEGIN + 3000 }))
    expect([pictureTimes(twice).length > 15, counterGaps(twice), rises(twice)]).toEqual([true, 0, true])
    const playlist = await kept.playback.playlist('gate', { from: BEGIN, to: BEGIN + 5000 })
    expect(playlist.match(/#EXT-X-DISCONTINUITY/g)).toHaveLength(1)
  })

  it('stay one span where video was held up on its way', async () => {
    const kept = await openStore()
    const { record, finish } = camera(kept)
    record(2)
    const steadyMs = performance.now.bind(performance)
    const spy = vi.spyOn(performance, 'now').mockImplementation(() => steadyMs() + 3000)
    onTestFinished(() => spy.mockRestore())
    kept.clock.now += 3000
    record(2)
    await finish()
    expect((await kept.spans()).length).toBe(1)
  })

  it('begin anew where codec or size change', async () => {
    const kept = await openStore()
    const { record, state, finish } = camera(kept)
    record(2.2)
    state.format = 'hvc1.1.6.L93 1280x720'
    record(2)
    await finish()
    const [first, second] = await kept.spans()
    // At the next key frame.
    expect([first?.[1], second?.[0]]).toEqual([BEGIN + 2500, BEGIN + 2500])
    const range = { from: BEGIN, to: BEGIN + 5000 }
    expect(await kept.playback.playlist('gate', range)).toContain('#EXT-X-DISCONTINUITY')
    await expect(kept.playback.movie('gate', range)).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { reason: 'codec_change', at: new Date(BEGIN + 2500).toISOString() },
    })
  })

  it('have KLV that comes late at the time of its picture', async () => {
    const kept = await openStore()
    const { record, finish } = camera(kept, { klv: true })
    record(4, { lateMs: 300 })
    await finish()
    for (const at of [BEGIN + 500, BEGIN + 2000]) {
      const { packet, arrival } = await kept.playback.klv('gate', at)
      expect([packet.timestampUs, arrival.receivedAt], `${at - BEGIN}`).toEqual([at * 1000, at])
    }
    // That of the last picture of a file is in the next one.
    const { arrival } = await kept.playback.klv('gate', BEGIN + 900)
    expect(BEGIN + 900 - arrival.receivedAt).toBeLessThanOrEqual(300)
  })

  it('forget files that were removed by hand, and find the others', async () => {
    const kept = await openStore()
    const { record, finish } = camera(kept)
    record(6)
    await finish()
    rmSync(kept.store.fileOf('gate', BEGIN + 2000))
    const range = await bytesOf(await kept.playback.range('gate', { from: BEGIN, to: BEGIN + 6000 }))
    expect([pictureTimes(range).length, counterGaps(range)]).toEqual([50, 0])
    expect(await kept.spans()).toEqual([
      [BEGIN, BEGIN + 2000],
      [BEGIN + 3000, BEGIN + 6000],
    ])
    rmSync(kept.folder, { recursive: true })
    await expect(kept.playback.range('gate', { from: BEGIN, to: BEGIN + 6000 })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await kept.spans()).toEqual([])
  })

  it.each([
    ['was deleted', (index: string) => rmSync(index)],
    ['was overwritten', (index: string) => writeFileSync(index, 'no database')],
  ])('make an index again that %s, while recording goes on', async (_what, damage) => {
    const kept = await openStore()
    const { record, finish } = camera(kept)
    record(3)
    await kept.spans()
    damage(join(kept.folder, '..', 'index.db'))
    record(3)
    await finish()
    const spans = () => kept.spans().catch(() => [])
    await until(spans, (found) => found.length === 1 && found[0]?.[1] === BEGIN + 6000, 20_000)
    expect((await kept.spans())[0]).toEqual([BEGIN, BEGIN + 6000])
  })

  it('are of one service: a second one is refused, in this process and in another', async () => {
    const kept = await openStore()
    const second = new Recordings(kept.options)
    await expect(second.open()).rejects.toMatchObject({ reason: 'recordings_in_use' })
    expect(second.fault).toMatchObject({ reason: 'recordings_in_use' })
    const lock = join(kept.folder, '..', '.lock')
    expect(() => execFileSync('flock', ['--nonblock', lock, 'true'])).toThrow()
  })

  it('leave no file in which a process that was killed wrote no picture', async () => {
    const dataDir = temporaryDataDir()
    const path = join(dataDir, 'recordings', 'gate')
    const folder = new PipelineFolder('gate', path, await loadSigningKey(dataDir))
    const { day, name } = segmentPlace(BEGIN)
    mkdirSync(join(path, day), { recursive: true })
    await folder.opened({ started_at: BEGIN, span: BEGIN, run: 'run', format: '' })
    writeFileSync(join(path, day, name), '')
    const kept = await openStore(dataDir)
    expect(readdirSync(join(path, day))).toEqual([])
    expect(await kept.spans()).toEqual([])
    await kept.holds()
  })

  it('say why nothing can be written, and go on when it can', async () => {
    const kept = await openStore()
    const { record, faults, finish, cutter } = camera(kept)
    const { day } = segmentPlace(BEGIN)
    mkdirSync(kept.folder, { recursive: true })
    writeFileSync(join(kept.folder, day), 'no folder')
    record(1)
    await until(
      () => {
        cutter.tick()
        return faults
      },
      (found) => found.length > 0,
    )
    expect(faults[0]).toMatchObject({ code: 'SERVICE_UNAVAILABLE', reason: 'disk_error' })
    rmSync(join(kept.folder, day))
    await until(
      async () => {
        record(1)
        await new Promise((resolve) => setImmediate(resolve))
        return readdirSync(kept.folder).includes(day)
      },
      (goesOn) => goesOn,
    )
    await finish()
    expect(await kept.spans()).toHaveLength(1)
    await kept.holds()
  })
})
