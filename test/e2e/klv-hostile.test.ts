import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { mutate, seededRandom } from '../fixtures/klv/random.ts'
import { ffmpegDecode } from '../helpers/media/players.ts'
import { startService } from '../helpers/process/service.ts'
import { replacePayload, startRtspRewriter } from '../helpers/rtsp/rewriter.ts'
import { type RtspSource, startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

let source: RtspSource

beforeAll(async () => {
  source = await startRtspSource()
})
afterAll(async () => {
  await source.stop()
})

/** The second track that is set up gets the channels behind those of the video. */
const KLV_CHANNEL = 2

/** The payload that a broken or hostile sender puts in the place of the original. */
const ATTACKS: Readonly<Record<string, (random: (below: number) => number, original: Uint8Array) => Uint8Array>> = {
  'bytes of any kind': (random) => Uint8Array.from({ length: random(1400) }, () => random(256)),
  'damaged packets': (random, original) => mutate(original, random),
  'a length that never ends': (_random, original) =>
    Uint8Array.of(...original.subarray(0, 16), 0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
}

it.each(Object.keys(ATTACKS))('KLV with %s does not disturb the video of an RTSP source', async (name) => {
  const random = seededRandom(name.length)
  const attack = ATTACKS[name]
  let attacks = 0
  const rewriter = await startRtspRewriter(
    source.port,
    replacePayload(KLV_CHANNEL, (original) => {
      attacks += 1
      const payload = attack?.(random, original) ?? original
      // Every fourth has no marker, so that units run into each other.
      return { payload, marker: random(4) > 0 }
    }),
  )
  onTestFinished(() => rewriter.close())
  const service = await startService()
  const { body } = await service.request('POST', '/svc/pipeline', {
    id: 'hostile',
    mode: 'simple',
    source: { uri: `rtsp://127.0.0.1:${rewriter.port}/klv`, latency_ms: 50 },
    klv_config: { pass_klv: true, auto_extract_geolocation: true },
  })
  expect(body.state).toBe('playing')
  expect(await ffmpegDecode(body.output.uri.replace('0.0.0.0', '127.0.0.1'), 60)).toEqual({ frames: 60, errors: [] })
  await until(
    () => attacks,
    (count) => count > 20,
  )
  expect((await service.request('GET', '/svc/pipeline/hostile')).body).toMatchObject({
    state: 'playing',
    klv: { available: true, state: 'playing' },
    runtime: { phase: 'playing', restarts: 0, last_error: null },
  })
  await service.stop()
})
