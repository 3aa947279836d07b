import { expect, it, onTestFinished } from 'vitest'
import { mutate, seededRandom } from '../../fixtures/klv/random.ts'
import { ffmpegDecode } from '../../helpers/media/players.ts'
import { replacePayload, startRtspRewriter } from '../../helpers/rtsp/rewriter.ts'
import { createPipeline, openSource, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

const service = shareService()
/** The second track that is set up gets the channels behind those of the video. */
const KLV_CHANNEL = 2

/** The payload that a broken or hostile sender puts in the place of the original. */
const ATTACKS: Readonly<Record<string, (random: (below: number) => number, original: Uint8Array) => Uint8Array>> = {
  any_bytes: (random) => Uint8Array.from({ length: random(1400) }, () => random(256)),
  damaged: (random, original) => mutate(original, random),
  endless: (_random, original) => Uint8Array.of(...original.subarray(0, 16), 0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
}

it('KLV of any bytes, damaged, or with a length that never ends does not disturb the video of an RTSP source', async () => {
  const source = await openSource()
  const attack = async ([id, payloadOf]: readonly [string, (typeof ATTACKS)[string]]): Promise<void> => {
    const random = seededRandom(id.length)
    let attacks = 0
    const replace = replacePayload(KLV_CHANNEL, (original) => {
      attacks += 1
      // Every fourth has no marker, so that units run into each other.
      return { payload: payloadOf(random, original), marker: random(4) > 0 }
    })
    const rewriter = await startRtspRewriter(source.port, replace)
    onTestFinished(() => rewriter.close())
    const url = await createPipeline(service, id, {
      source: { uri: `rtsp://127.0.0.1:${rewriter.port}/klv`, latency_ms: 50 },
      klv_config: { pass_klv: true, auto_extract_geolocation: true },
    })
    expect({ id, ...(await ffmpegDecode(url, 60)) }).toEqual({ id, frames: 60, errors: [] })
    await until(
      () => attacks,
      (count) => count > 20,
    )
    expect(await viewOf(service, id)).toMatchObject({
      state: 'playing',
      klv: { available: true, state: 'playing' },
      runtime: { phase: 'playing', restarts: 0, last_error: null },
    })
  }
  await Promise.all(Object.entries(ATTACKS).map(attack))
})
