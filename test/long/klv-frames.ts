/**
 * KLV against its frame: klv-frames [PACKETS]. A source shows the number of each frame in its picture, and sends a KLV packet with each.
 * The pictures that come over WebRTC (aiortc), /video and stream.ts (stream type 0x15) are decoded: the packet with the time of a frame
 * has to be the one with its number. Fails when one has not.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KlvDemuxer } from '../../engine/mpegts/klv-demuxer.ts'
import { flightPacket } from '../../lib/st0601/synthetic-flight.ts'
import { toHex } from '../fixtures/klv/hex.ts'
import { createPipeline, withService } from '../helpers/bench/service-run.ts'
import { startTsKlvSender } from '../helpers/klv/ts-sender.ts'
import { openVideo } from '../helpers/live/records.ts'
import { playByAiortc } from '../helpers/media/aiortc-player.ts'
import { framesPerSecond, numbersShownIn, recordFrameClock } from '../helpers/media/frame-clock.ts'
import { picturesOf, wholePackets } from '../helpers/media/transport-stream.ts'

const packets = Number(process.argv[2] ?? 10_000)
const SPARE_SECONDS = 30

/** What a way brought: the time of each frame with its number, and of each packet with that of the frame that it was sent with. */
interface Brought {
  readonly frames: readonly (readonly [time: number, number: number])[]
  readonly klv: readonly (readonly [time: number, number: number | undefined])[]
}

const judge = (way: string, { frames, klv }: Brought): boolean => {
  const numbers = new Map(frames)
  // At the ends of what was read, only one of the two is there.
  const judged = klv.filter(([time]) => time >= (frames[0]?.[0] ?? 0) && time <= (frames.at(-1)?.[0] ?? 0)).slice(0, packets)
  const right = judged.filter(([time, number]) => number !== undefined && numbers.get(time) === number).length
  console.log(JSON.stringify({ way, frames: frames.length, packets: klv.length, judged: judged.length, right }))
  return judged.length >= packets && right === judged.length
}

const folder = mkdtempSync(join(tmpdir(), 'klv-frames-'))
const clock = join(folder, 'clock.ts')
recordFrameClock(clock, framesPerSecond, '320:240', packets / framesPerSecond + SPARE_SECONDS)
const sender = await startTsKlvSender({
  synchronous: true,
  fps: framesPerSecond,
  klv: (index) => flightPacket(index * 1000),
  video: `filesrc location=${clock} ! tsdemux ! h264parse ! identity sync=true`,
})
/** The number of the frame that a packet was sent with. */
const numberOf = (): ((hex: string) => number | undefined) => {
  const numbers = new Map(sender.sent.map(({ klv }, number) => [toHex(klv), number]))
  return (hex) => numbers.get(hex)
}

const readVideo = async (url: string): Promise<Brought> => {
  const client = await openVideo(url)
  await client.until((records) => records.length > 2 * packets + framesPerSecond * 10, (packets / framesPerSecond + SPARE_SECONDS) * 1000)
  await client.close()
  const units = client.records.filter(({ kind }) => kind === 2 || kind === 3)
  const file = join(folder, 'video.h264')
  writeFileSync(file, Buffer.concat(units.map(({ payload }) => payload)))
  const [numbers, number] = [numbersShownIn(file), numberOf()]
  return {
    frames: units.map(({ time }, at) => [time, numbers[at] ?? Number.NaN]),
    klv: client.records.filter(({ kind }) => kind === 7).map(({ time, payload }) => [time, number(toHex(payload))]),
  }
}

const readTransport = async (url: string): Promise<Brought> => {
  const abort = new AbortController()
  const response = await fetch(url, { signal: abort.signal })
  const [chunks, counter] = [[] as Uint8Array[], new KlvDemuxer()]
  let count = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    count += counter.push(chunk).length
    if (count > packets + framesPerSecond * 5) break
  }
  abort.abort()
  const bytes = wholePackets(Buffer.concat(chunks))
  const file = join(folder, 'stream.ts')
  writeFileSync(file, bytes)
  const [numbers, number, demuxer] = [numbersShownIn(file), numberOf(), new KlvDemuxer()]
  const klv = demuxer.push(bytes)
  if (demuxer.tracks?.every(({ synchronous }) => synchronous) !== true) throw new Error('The KLV is not synchronous')
  return {
    frames: picturesOf(bytes).map(({ time }, at) => [time, numbers[at] ?? Number.NaN]),
    klv: klv.map(({ pts, bytes: packet }) => [pts ?? Number.NaN, number(toHex(packet))]),
  }
}

const readWebRtc = async (url: string): Promise<Brought> => {
  const played = await playByAiortc(url, { frames: packets + framesPerSecond * 5, klv: packets + framesPerSecond * 5 })
  const [number, first = 0] = [numberOf(), played.frames[0]?.[0]]
  const since = (time: number): number => (time - first) >>> 0
  return {
    frames: played.frames.map(([time, shown]) => [since(time), shown]),
    klv: played.klv.filter(([time]) => since(time) < 2 ** 31).map(([time, hex]) => [since(time), number(hex)]),
  }
}

const results = await withService(async (service) => {
  await createPipeline(service, { id: 'numbered', source: { uri: sender.uri }, klv_config: { pass_klv: true } })
  const at = (path: string): string => `${service.url}/svc/pipeline/numbered/${path}`
  return Promise.all([readVideo(at('video?klv=1')), readTransport(at('stream.ts?start=key')), readWebRtc(at('whep'))])
})
await sender.stop()
rmSync(folder, { recursive: true })
const ways = ['/video', 'stream.ts, 0x15', 'WebRTC']
process.exitCode = ways.map((way, at) => judge(way, results[at] ?? { frames: [], klv: [] })).every(Boolean) ? 0 : 1
