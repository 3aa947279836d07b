import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const folder = fileURLToPath(new URL('../../../../engine/klv/', import.meta.url))

/** A program that uses the decoder and the demuxer and stores its results in `found`. */
const PROGRAM = `
  import { flightPacket } from '../../lib/st0601/synthetic-flight.ts'
  import { footprintFeature } from './footprint/feature.ts'
  import { klvFeature, klvPacketJson } from '../../lib/st0601/json.ts'
  import { KlvStreamParser } from '../../lib/st0601/stream-parser.ts'
  import { KlvDemuxer } from '../mpegts/klv-demuxer.ts'
  const [packet] = new KlvStreamParser().push(flightPacket(1000))
  const arrival = { pipelineId: 'p', receivedAt: 0, now: 0 }
  globalThis.found = JSON.stringify({
    mission: klvPacketJson(packet, arrival).values.mission_id,
    geometry: klvFeature(packet, arrival).geometry.type,
    footprint: footprintFeature(packet, arrival).properties.method,
    units: new KlvDemuxer().push(new Uint8Array(400)).length,
  })
`

it('decodes without Node: no module, no Buffer, no process', async () => {
  const { outputFiles } = await build({
    stdin: { contents: PROGRAM, resolveDir: folder, loader: 'ts' },
    bundle: true,
    platform: 'neutral',
    format: 'iife',
    write: false,
  })
  const bare = createContext({ TextDecoder, TextEncoder })
  runInContext(outputFiles[0]?.text ?? '', bare)
  expect(JSON.parse(String(runInContext('found', bare)))).toEqual({
    mission: 'SYNTHETIC',
    geometry: 'Point',
    footprint: 'field_of_view',
    units: 0,
  })
})
