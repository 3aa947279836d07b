import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { readDocument, section, shellCommands } from '../helpers/documents.ts'
import { startService } from '../helpers/process/service.ts'

const run = promisify(execFile)

it('the commands of the README about KLV do what they say', async () => {
  const service = await startService()
  const outputs: string[] = []
  for (const line of shellCommands(section(readDocument('README.md'), '## KLV'))) {
    // timeout(1) ends what follows events, with an exit code of its own.
    const command = `${line.replaceAll('http://127.0.0.1:8080', service.url)}${line.startsWith('timeout') ? ' || true' : ''}`
    const { stdout } = await run('sh', ['-c', command])
    outputs.push(stdout)
  }
  const [created, , packet, feature, footprint, events, stopped] = outputs
  expect(JSON.parse(created ?? '')).toMatchObject({ id: 'uav', klv: { available: true, state: 'playing' } })
  expect(JSON.parse(packet ?? '')).toMatchObject({ pipeline_id: 'uav', values: { mission_id: 'SYNTHETIC' }, stale: false })
  expect(JSON.parse(feature ?? '')).toMatchObject({ type: 'Feature', geometry: { type: 'Point', coordinates: expect.any(Array) } })
  expect(JSON.parse(footprint ?? '')).toMatchObject({
    geometry: { type: 'Polygon', coordinates: [Array.from({ length: 5 }, () => [expect.closeTo(-48.5, 1), expect.closeTo(-27.6, 1)])] },
    properties: { method: 'field_of_view', pipeline_id: 'uav', altitude_reference: 'msl', ground_elevation: expect.closeTo(0, 0) },
  })
  expect(events?.match(/^event: klv$/gm)?.length).toBeGreaterThan(5)
  expect(JSON.parse(stopped ?? '')).toMatchObject({
    klv: { available: true, state: 'stopped' },
    geolocation: { latitude: expect.any(Number) },
  })
  await service.stop()
})
