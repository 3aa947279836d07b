import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { RECORD_KINDS, type VideoRecord, VideoRecordParser } from '../../../lib/video-records.ts'
import { mediaChildren } from '../../helpers/api/host-truth.ts'
import { ffprobe } from '../../helpers/media/players.ts'
import { command, createPipeline, openSource } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const run = promisify(execFile)
const service = shareService()
const codecsAt = async (url: string, transport?: 'udp') => (await ffprobe(url, transport)).map(({ codec_name }) => codec_name)

/** The records of `/video?audio=1` up to 20 frames of sound. */
const readRecords = async (id: string) => {
  const abort = new AbortController()
  const response = await fetch(`${service.url}/svc/pipeline/${id}/video?audio=1`, { signal: abort.signal })
  const parser = new VideoRecordParser()
  const records: VideoRecord[] = []
  for await (const chunk of response.body ?? []) {
    records.push(...parser.push(chunk))
    if (records.filter(({ kind }) => kind === RECORD_KINDS.sound).length > 20) break
  }
  abort.abort()
  return records
}

it('the sound of a source goes to RTSP over TCP and UDP, MPEG-TS and live video, without a process', async () => {
  const source = await openSource()
  const output = await createPipeline(service, 'sound', { source: { uri: source.url('/aac') } })
  expect(await codecsAt(output)).toEqual(['h264', 'aac'])
  expect(await codecsAt(output, 'udp')).toEqual(['h264', 'aac'])
  const decoded = await run('ffmpeg', ['-v', 'error', '-i', `${service.url}/svc/pipeline/sound/stream.ts`, '-t', '2', '-f', 'null', '-'])
  expect(decoded.stderr).not.toMatch(/\[aac @|\[h264 @/)
  expect(await codecsAt(`${service.url}/svc/pipeline/sound/stream.ts`)).toEqual(['h264', 'aac'])
  const records = await readRecords('sound')
  const config = records.find(({ kind }) => kind === RECORD_KINDS.soundConfig)?.payload
  expect(JSON.parse(Buffer.from(config ?? []).toString())).toEqual({ codec: 'mp4a.40.2', sampleRate: 44_100, numberOfChannels: 1 })
  const [picture = 0, sound = 0] = [RECORD_KINDS.key, RECORD_KINDS.sound].map((of) => records.find(({ kind }) => kind === of)?.time)
  expect(Math.abs(sound - picture)).toBeLessThan(60_000)
  expect(mediaChildren(service.enginePid())).toEqual([])
}, 30_000)

it('a pipeline with audio off serves the picture alone', async () => {
  const source = await openSource()
  const output = await createPipeline(service, 'silent', { source: { uri: source.url('/aac') }, audio: 'off' })
  expect(await codecsAt(output)).toEqual(['h264'])
}, 20_000)

it('a beep is encoded beside the test picture', async () => {
  const output = await createPipeline(service, 'beep', { source: { uri: 'test://ball?width=320&height=240&audio=1' }, audio: 'opus' })
  expect(await codecsAt(output)).toEqual(['h264', 'opus'])
}, 20_000)

it('G.711 is encoded to AAC by a process of its own, and the picture passes through', async () => {
  const source = await openSource()
  const output = await createPipeline(service, 'encoded', { source: { uri: source.url('/av') }, audio: 'aac' })
  expect(await codecsAt(output)).toEqual(['h264', 'aac'])
  expect(await codecsAt(`${service.url}/svc/pipeline/encoded/stream.ts`)).toEqual(['h264', 'aac'])
  const children = mediaChildren(service.enginePid())
  await command(service, 'encoded', 'stop')
  const left = mediaChildren(service.enginePid()).filter((pid) => children.includes(pid))
  expect(children.length - left.length).toBe(1)
}, 30_000)

it('a description may name its sound pay1', async () => {
  const raw_pipeline =
    'videotestsrc is-live=true ! video/x-raw,width=320,height=240,framerate=30/1,format=I420 ! x264enc tune=zerolatency key-int-max=30 ! ' +
    'rtph264pay name=pay0 config-interval=-1 audiotestsrc is-live=true ! alawenc ! rtppcmapay name=pay1'
  expect(await codecsAt(await createPipeline(service, 'own', { raw_pipeline }))).toEqual(['h264', 'pcm_alaw'])
  expect(await codecsAt(await createPipeline(service, 'own-silent', { raw_pipeline, audio: 'off' }))).toEqual(['h264'])
}, 30_000)
