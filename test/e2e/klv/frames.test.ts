import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { KlvDemuxer } from '../../../engine/mpegts/klv-demuxer.ts'
import { flightPacket } from '../../../lib/st0601/synthetic-flight.ts'
import { toHex } from '../../fixtures/klv/hex.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { startTsKlvSender } from '../../helpers/klv/ts-sender.ts'
import { openVideo, type VideoRecord } from '../../helpers/live/records.ts'
import { counterGaps, picturesOf, wholePackets } from '../../helpers/media/transport-stream.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { createPipeline } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const run = promisify(execFile)
const service = shareService()

const startSender = async (synchronous: boolean) => {
  const sender = await startTsKlvSender({ synchronous, fps: 30, klv: (index) => flightPacket(index * 1000) })
  onTestFinished(() => sender.stop())
  return sender
}

/** `stream.ts` until it has this many KLV packets. */
const readTransport = async (id: string, packets: number, query = ''): Promise<Buffer> => {
  const abort = new AbortController()
  const response = await fetch(`${service.url}/svc/pipeline/${id}/stream.ts${query}`, { signal: abort.signal })
  const [chunks, demuxer] = [[] as Uint8Array[], new KlvDemuxer()]
  let count = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    count += demuxer.push(chunk).length
    if (count >= packets) break
  }
  abort.abort()
  return wholePackets(Buffer.concat(chunks))
}

/** How many KLV packets have the time of the frame with which they were sent, and of how many. */
const judge = (
  klv: readonly { readonly bytes: Uint8Array; readonly time: number | null }[],
  frames: readonly { readonly time: number; readonly data: Buffer }[],
  { sent }: Awaited<ReturnType<typeof startSender>>,
) => {
  let [right, judged] = [0, 0]
  for (const { bytes, time } of klv) {
    const mark = sent.find((one) => Buffer.compare(one.klv, bytes) === 0)?.mark
    const frame = mark && frames.find(({ data }) => data.includes(mark))
    // At the ends of what was read, only one of the two is there.
    if (frame === undefined) continue
    judged += 1
    if (frame.time === time) right += 1
  }
  return { right, judged }
}

const judgeRecords = (records: readonly VideoRecord[], sender: Awaited<ReturnType<typeof startSender>>) =>
  judge(
    records.flatMap(({ kind, time, payload }) => (kind === 7 ? [{ bytes: payload, time }] : [])),
    records.flatMap(({ kind, time, payload }) => (kind === 2 || kind === 3 ? [{ time, data: payload }] : [])),
    sender,
  )

it.each([
  ['that the source sends so', true, {}],
  ['that the configuration asks for', false, { synchronous: true }],
])('gives KLV of MPEG-TS the time of its frame: %s', async (_what, synchronous, klv_config) => {
  const [sender, id] = [await startSender(synchronous), `frames-${synchronous}`]
  await createPipeline(service, id, { source: { uri: sender.uri }, klv_config: { pass_klv: true, ...klv_config } })
  const bytes = await readTransport(id, 60)
  const demuxer = new KlvDemuxer()
  const klv = demuxer.push(bytes).map(({ pts, ...unit }) => ({ ...unit, time: pts }))
  expect(demuxer.tracks).toMatchObject([{ synchronous: true }])
  const { right, judged } = judge(klv, picturesOf(bytes), sender)
  expect(judged).toBeGreaterThan(50)
  expect(right).toBe(judged)
  expect(counterGaps(bytes)).toBe(0)

  const file = join(temporaryDataDir(), 'stream.ts')
  writeFileSync(file, bytes)
  const probed = await run('ffprobe', ['-v', 'error', '-show_entries', 'stream=codec_name', '-of', 'csv=p=0', file])
  expect(probed.stdout.split('\n').filter((line) => line !== '')).toContain('klv')
  await run('gst-launch-1.0', ['-q', ...`filesrc location=${file} ! tsdemux ! h264parse ! avdec_h264 ! fakesink sync=false`.split(' ')])
})

it('sends KLV in the records of the video before the record of its frame, to those who ask for it alone', async () => {
  const sender = await startSender(false)
  await createPipeline(service, 'records', { source: { uri: sender.uri } })
  const open = async (query: string) => {
    const client = await openVideo(`${service.url}/svc/pipeline/records/video${query}`)
    onTestFinished(() => client.close())
    return client
  }
  const [client, plain] = await Promise.all([open('?klv=1'), open('')])
  await client.until((records) => records.filter(({ kind }) => kind === 7).length > 60)
  const records = client.records.slice()
  const { right, judged } = judgeRecords(records, sender)
  expect(judged).toBeGreaterThan(50)
  expect(right).toBe(judged)
  const before = records.filter(({ kind, time }, at) => {
    const next = kind === 7 ? records.slice(at + 1).find((record) => record.kind !== 7) : undefined
    return (next?.kind === 2 || next?.kind === 3) && next.time === time
  })
  // On a host that is busy, a packet may come later than any before.
  expect(before.length).toBeGreaterThan(0.9 * records.filter(({ kind }) => kind === 7).length)
  expect(plain.records.length).toBeGreaterThan(30)
  expect(plain.records.filter(({ kind }) => kind === 7)).toEqual([])
})

it.each([
  ['a file of MPEG-TS', '/recorded.ts', null],
  ['HLS that is encoded anew', '/list.m3u8', { codec: 'h264', width: 320, height: 180, quality: 1 }],
])('reads synchronous KLV with its times over HTTP: %s', async (_what, path, encoding) => {
  const [sender, id] = [await startSender(true), path.slice(1, 5)]
  await createPipeline(service, `${id}-live`, { source: { uri: sender.uri }, klv_config: { pass_klv: true } })
  const recorded = await readTransport(`${id}-live`, 90, '?start=key')
  const playlist = '#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:4,\nrecorded.ts\n#EXT-X-ENDLIST\n'
  const { url } = await startHttpServer((request, response) => {
    const [type, body] = request.url === '/list.m3u8' ? ['application/vnd.apple.mpegurl', playlist] : ['video/mp2t', recorded]
    response.writeHead(200, { 'content-type': type, 'content-length': body.length }).end(body)
  })
  await createPipeline(service, id, { source: { uri: `${url}${path}` }, ...(encoding && { encoding }), klv_config: { pass_klv: true } })
  const client = await openVideo(`${service.url}/svc/pipeline/${id}/video?klv=1`)
  onTestFinished(() => client.close())
  const [bytes] = await Promise.all([
    readTransport(id, 30),
    client.until((records) => records.filter(({ kind }) => kind === 7).length > 40),
  ])
  const { right, judged } = judgeRecords(client.records, sender)
  // Pictures that are encoded anew have no mark.
  if (encoding === null) expect(judged).toBeGreaterThan(30)
  expect(right).toBe(judged)
  const sent = sender.sent.map(({ klv }) => toHex(klv))
  expect(client.records.filter(({ kind, payload }) => kind === 7 && !sent.includes(toHex(payload)))).toEqual([])
  const demuxer = new KlvDemuxer()
  demuxer.push(bytes)
  expect(demuxer.tracks).toMatchObject([{ synchronous: true }])
})
