import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Encoding } from '../../../lib/schema/pipeline.ts'
import { flightPacket } from '../../../lib/st0601/synthetic-flight.ts'
import { toHex } from '../../fixtures/klv/hex.ts'
import { seededRandom } from '../../fixtures/klv/random.ts'
import { startTsKlvSender } from '../../helpers/klv/ts-sender.ts'
import { configure, send, TS } from '../../helpers/media/play-launch.ts'
import { playSource } from '../../helpers/media/play-source.ts'
import { freeUdpPort } from '../../helpers/ports.ts'
import { until } from '../../helpers/until.ts'

/** Each GET gets a stream of its own; resolves to the port. */
const serve = async (line: string): Promise<number> => {
  const server = createServer((_request, response) => {
    const child = spawn('gst-launch-1.0', ['-q', ...line.split(' ')], { stdio: ['ignore', 'pipe', 'ignore'] })
    child.stdout.pipe(response.writeHead(200, { 'content-type': 'video/mp2t' }))
    response.on('close', () => child.kill('SIGKILL'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Runs a source until the test ends. */
const watch = async (uri: string, encoding: Encoding | null = null) => {
  const play = await playSource(configure(uri, encoding), { startTimeoutMs: 15_000, stallTimeoutMs: 15_000 })
  const seen = { ended: false }
  void play.ended.finally(() => {
    seen.ended = true
  })
  return { ...play, seen, keyFrames: () => play.video.flatMap(({ key, mediaMs }) => (key ? [mediaMs] : [])) }
}

const KEY_INTERVAL = 10

describe.each([
  ['synchronous', true],
  ['asynchronous', false],
])('%s KLV of an MPEG-TS over UDP', (_name, synchronous) => {
  it('comes out whole, in order, at the time of the picture that it was sent with', async () => {
    // Every fourth picture is a key frame; only those have a packet, so that packets and pictures can be matched.
    const sender = await startTsKlvSender({
      synchronous,
      fps: 8,
      keyInterval: 4,
      klv: (index) => (index % 4 === 0 ? flightPacket(index * 125) : undefined),
    })
    onTestFinished(() => sender.stop())
    const { keyFrames, klv: units, events } = await watch(sender.uri)
    await expect.poll(() => keyFrames().length).toBeGreaterThanOrEqual(6)
    expect(events).toContainEqual({ type: 'klv', available: true, synchronous })
    const klv = units.map((unit) => ({ mediaMs: unit.mediaMs, bytes: toHex(unit.payload()) }))
    const first = sender.sent.findIndex((sent) => toHex(sent.klv) === klv[0]?.bytes)
    expect(first).toBeGreaterThanOrEqual(0)
    expect(klv.map(({ bytes }) => bytes)).toEqual(sender.sent.slice(first, first + klv.length).map((sent) => toHex(sent.klv)))
    // The sender gives both the same time stamp; RTP of KLV and of pictures is rounded to ticks of 90 kHz each.
    for (const pictureMs of keyFrames().slice(1, -1)) {
      expect(Math.min(...klv.map(({ mediaMs }) => Math.abs(mediaMs - pictureMs)))).toBeLessThan(1)
    }
  })

  it('does not affect the video when it is garbage', async () => {
    const random = seededRandom(synchronous ? 7 : 8)
    const bytes = (most: number): Uint8Array => Uint8Array.from({ length: 1 + random(most) }, () => random(256))
    const sender = await startTsKlvSender({
      synchronous,
      fps: 25,
      keyInterval: KEY_INTERVAL,
      klv: (index) => (index % 2 === 0 ? bytes(3000) : Uint8Array.of(...flightPacket(index).subarray(0, 20), ...bytes(500))),
      damage: (transport) => {
        const at = random(transport.length)
        // Not the first four bytes of a packet: a wrong PID would damage the video.
        if (at % 188 >= 4) transport[at] = random(256)
        return transport
      },
    })
    onTestFinished(() => sender.stop())
    const { seen, video } = await watch(sender.uri)
    await expect.poll(() => video.length).toBeGreaterThanOrEqual(75)
    expect(seen.ended).toBe(false)
    expect(sender.sent.length).toBeGreaterThan(50)
  })
})

describe('an MPEG-TS whose video changes', () => {
  it('ends its run at once, so that the next one takes the new video', async () => {
    const port = await freeUdpPort()
    const sink = `udpsink host=127.0.0.1 port=${port}`
    const stopFirst = send(`${TS.H264} ! ${sink}`)
    const { video, ended } = await watch(`udp://127.0.0.1:${port}`)
    await until(() => video.length > 10, Boolean, 20_000)
    await stopFirst()
    const stopSecond = send(`${TS.H265} ! ${sink}`)
    onTestFinished(stopSecond)
    const fault = await ended
    expect([fault?.reason, fault?.message]).toEqual(['ended', 'The source goes on with another video stream.'])
  })
})

describe('an MPEG-TS whose first program is radio', () => {
  // The map of the program that is made last is sent first.
  const programs = 'prog-map=program_map,sink_100=2,sink_200=1,sink_201=1'
  const radio = 'audiotestsrc is-live=true ! avenc_mp2 ! mpegaudioparse ! ts.sink_100'
  const sound = 'audiotestsrc is-live=true ! avenc_mp2 ! mpegaudioparse ! ts.sink_201'
  const video = `${TS.H264.replace(/ ! mpegtsmux.*$/, '')} ! ts.sink_200`
  const lineTo = (sink: string): string => `mpegtsmux name=ts alignment=7 ${programs} ! ${sink} ${video} ${sound} ${radio}`

  it.each(['udp', 'http'])('plays the program with video: over %s', async (scheme) => {
    const port = scheme === 'udp' ? await freeUdpPort() : await serve(lineTo('fdsink fd=1'))
    if (scheme === 'udp') onTestFinished(send(lineTo(`udpsink host=127.0.0.1 port=${port}`)))
    const play = await playSource(`${scheme}://127.0.0.1:${port}`)
    await play.media()
    expect(play.pid()).toBeUndefined()
  })

  it('ends the run of a process at once, and the next one plays the program with video', async () => {
    const port = await freeUdpPort()
    const uri = `srt://127.0.0.1:${port}?mode=listener`
    const play = await playSource(uri)
    const stop = send(lineTo(`srtsink uri=srt://127.0.0.1:${port}?mode=caller`))
    const fault = await play.ended
    await stop()
    expect([play.video.length, fault?.reason, fault?.message]).toEqual([0, 'source_error', expect.stringContaining('reads program 1')])
    const next = await playSource(uri, { previousFault: fault })
    onTestFinished(send(lineTo(`srtsink uri=srt://127.0.0.1:${port}?mode=caller`)))
    await next.media()
  }, 60_000)
})

describe('an MPEG-TS with neither H.264 nor H.265', () => {
  it.each(['udp', 'http'])(
    'over %s ends its run at once when it is to be passed through, and says what to set',
    async (scheme) => {
      const raw = 'videotestsrc is-live=true ! video/x-raw,width=320,height=240,framerate=25/1'
      const lineTo = (sink: string): string => `${raw} ! avenc_mpeg4 ! mpeg4videoparse ! mpegtsmux alignment=7 ! ${sink}`
      const port = scheme === 'udp' ? await freeUdpPort() : await serve(lineTo('fdsink fd=1'))
      if (scheme === 'udp') onTestFinished(send(lineTo(`udpsink host=127.0.0.1 port=${port}`)))
      const passed = await watch(`${scheme}://127.0.0.1:${port}`)
      const fault = await passed.ended
      expect([fault?.reason, fault?.message]).toEqual(['unsupported', expect.stringContaining('Set encoding')])
      const encoded = await watch(`${scheme}://127.0.0.1:${port}`, { codec: 'h264', bitrate: 500, quality: 1 })
      await until(() => encoded.video.length > 10, Boolean, 20_000)
    },
    60_000,
  )
})
