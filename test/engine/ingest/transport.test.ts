import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { parseAdtsHeader } from '../../../engine/codec/audio/aac.ts'
import { soundOf } from '../../../engine/codec/audio/sound-codecs.ts'
import { CODECS } from '../../../engine/codec/codecs.ts'
import { nalBytes } from '../../../engine/codec/nal.ts'
import { TransportMedia } from '../../../engine/ingest/demux/transport-media.ts'
import { MpegTsInput } from '../../../engine/klv/mpegts-input.ts'
import type { AccessUnit } from '../../../engine/rtp/access-unit.ts'
import { createMediaStreams } from '../../../engine/rtp/media-streams.ts'

const TICKS_PER_MS = 90
const SECONDS = 2

const ffmpeg = (args: string, input?: Buffer): Buffer =>
  execFileSync('ffmpeg', ['-v', 'error', ...args.split(' '), 'pipe:1'], { input, maxBuffer: 2 ** 28 })

/** Pictures and a tone as FFmpeg multiplexes them. */
const transportOf = (coding: string): Buffer => {
  const inputs = `-f lavfi -i testsrc2=size=320x180:rate=25:duration=${SECONDS} -f lavfi -i sine=1000:duration=${SECONDS}`
  return ffmpeg(`${inputs} ${coding} -g 10 -f mpegts`)
}

/** Presentation times in the order of the stream, milliseconds. */
const timesIn = (bytes: Buffer, stream: 'v:0' | 'a:0'): readonly number[] =>
  execFileSync('ffprobe', `-v error -select_streams ${stream} -show_entries packet=pts -of csv=p=0 pipe:0`.split(' '), { input: bytes })
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Number.parseInt(line, 10) / TICKS_PER_MS)

/** What comes of an MPEG-TS that is read in pieces of `size` bytes. */
const read = (bytes: Buffer, size = 1316) => {
  const streams = createMediaStreams()
  const units: Record<'video' | 'sound', { readonly ms: number; readonly payloads: readonly Buffer[] }[]> = { video: [], sound: [] }
  const note = (list: (typeof units)['video']) => (unit: AccessUnit) =>
    list.push({ ms: unit.mediaMs, payloads: unit.payloads().map((payload) => Buffer.from(payload)) })
  streams[0].onUnit(note(units.video))
  streams[2].onUnit(note(units.sound))
  streams[0].begin({ foreign: true })
  streams[2].begin({ caps: null })
  let gaps = 0
  const found: (readonly [readonly string[], boolean])[] = []
  const input = new MpegTsInput(
    streams[1],
    { onAvailable: () => {}, onVideo: () => {}, onVideoLost: () => {} },
    {},
    (ticksOf) =>
      new TransportMedia({
        video: streams[0],
        sound: streams[2],
        ticksOf,
        onGap: () => (gaps += 1),
        onSound: (...sound) => found.push(sound),
      }),
  )
  const perByte = (SECONDS * 1000 * TICKS_PER_MS) / bytes.length
  for (let at = 0; at < bytes.length; at += size) input.demux(bytes.subarray(at, at + size), Math.round(at * perByte))
  input.end()
  for (const stream of streams) stream.end()
  return { ...units, caps: [streams[0].caps, streams[2].caps], gaps, found }
}

/** Their differences, in the order in which they come, milliseconds. */
const steps = (times: readonly number[]): readonly number[] => times.slice(1).map((time, at) => Math.round(time - (times[at] ?? 0)))

const slicesOf = (encodingName: string, payloads: readonly Buffer[]): readonly Buffer[] => {
  const codec = CODECS.get(encodingName)
  return (codec?.depacketize(payloads) ?? []).filter(({ type }) => codec?.isPicture(type)).map((nal) => Buffer.from(nalBytes(nal)))
}

/** The NAL units of pictures in a stream of Annex B. */
const slicesIn = (bytes: Buffer, encodingName: string): readonly Buffer[] => {
  const codec = CODECS.get(encodingName)
  const typeOf = (first: number): number => (encodingName === 'H264' ? first & 0x1f : (first >> 1) & 0x3f)
  const nals = bytes.toString('latin1').split('\0\0\x01')
  return nals
    .map((nal) => Buffer.from(nal.replace(/\0+$/, ''), 'latin1'))
    .filter((nal) => nal.length > 0 && codec?.isPicture(typeOf(nal[0] ?? 0)))
}

describe.each([
  ['H264', '-c:v libx264 -preset ultrafast -tune zerolatency', 'h264'],
  ['H264', '-c:v libx264 -preset veryfast -bf 2 -x264-params b-pyramid=normal:slices=4', 'h264'],
  ['H265', '-c:v libx265 -preset ultrafast -x265-params log-level=none:bframes=2', 'hevc'],
])('%s of FFmpeg (%s)', (encodingName, coding, format) => {
  it.each([188, 1316, 65_537])('has every picture with its time when it comes in pieces of %d bytes', (size) => {
    const bytes = transportOf(`${coding} -c:a aac`)
    const { video, caps } = read(bytes, size)
    const expected = timesIn(bytes, 'v:0')
    expect(steps(video.map(({ ms }) => ms))).toEqual(steps(expected))
    const slices = video.flatMap(({ payloads }) => slicesOf(encodingName, payloads))
    const sent = slicesIn(ffmpeg(`-i pipe:0 -map 0:v -c copy -f ${format}`, bytes), encodingName)
    expect(slices.length).toBeGreaterThan(video.length - 1)
    expect(slices.every((slice, at) => sent[at] !== undefined && slice.equals(sent[at]))).toBe(true)
    expect(caps[0]?.encodingName).toBe(encodingName)
  })
})

describe.each([
  ['aac', '-c:a aac -ar 44100'],
  ['mp2', '-c:a mp2 -b:a 192k'],
  ['mp3', '-c:a libmp3lame -b:a 128k'],
  ['opus', '-c:a libopus'],
])('sound in %s', (codec, coding) => {
  const bytes = transportOf(`-c:v libx264 -preset ultrafast -tune zerolatency ${coding}`)

  it('has every frame with its time', () => {
    const { sound, caps, found } = read(bytes, 1000)
    const known = caps[1] && soundOf(caps[1], sound[0]?.payloads)
    expect([known?.codec, found]).toEqual([codec, [[[codec === 'mp3' ? 'mp2' : codec], true]]])
    const frames = sound.flatMap(({ payloads }) => known?.frames(payloads) ?? []).map((frame) => Buffer.from(frame))
    const total = frames.reduce((ms, frame) => ms + (known?.frameMs(frame) ?? 0), 0)
    expect(total).toBeGreaterThan(SECONDS * 1000 - 150)
    const times = sound.map(({ ms }) => ms)
    const expected = timesIn(bytes, 'a:0')
    expect(Math.abs((times.at(-1) ?? 0) - (times[0] ?? 0) - ((expected[times.length - 1] ?? 0) - (expected[0] ?? 0)))).toBeLessThan(3)
    if (codec === 'opus') return
    const raw = ffmpeg(`-i pipe:0 -map 0:a -c copy -f ${codec === 'aac' ? 'adts' : codec}`, bytes)
    const body = (frame: Buffer): Buffer => frame.subarray(codec === 'aac' ? (parseAdtsHeader(frame, 0)?.headerBytes ?? 0) : 0)
    for (const frame of frames.slice(1)) expect(raw.includes(body(frame))).toBe(true)
  })

  it('keeps its relation to the picture', () => {
    const { sound, video } = read(bytes)
    const [firstSound = 0, firstPicture = 0] = [timesIn(bytes, 'a:0')[0], timesIn(bytes, 'v:0')[0]]
    const relation = (sound[0]?.ms ?? 0) - (video[0]?.ms ?? 0)
    expect(Math.abs(relation - (firstSound - firstPicture))).toBeLessThan(2)
  })
})

it('goes on after a loss without the picture that it hit, and says that there was one', () => {
  const bytes = transportOf('-c:v libx264 -preset ultrafast -tune zerolatency -c:a aac')
  const whole = read(bytes).video.length
  const lossy = Buffer.concat([bytes.subarray(0, 188 * 200), bytes.subarray(188 * 230)])
  const { video, gaps } = read(lossy)
  expect(gaps).toBeGreaterThan(0)
  expect(video.length).toBeLessThan(whole)
  expect(video.length).toBeGreaterThan(whole - 15)
})
