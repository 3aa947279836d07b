import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { startService } from '../helpers/process/service.ts'

const run = promisify(execFile)
const README = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8')

it('the KLV examples of the README work', async () => {
  const block = /## KLV\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(README)?.[1] ?? ''
  const service = await startService()
  const outputs: string[] = []
  for (const line of block.split('\n').filter((text) => text !== '')) {
    // timeout(1) ends the commands that follow events; its exit code is 124.
    const command = `${line.replaceAll('http://127.0.0.1:8080', service.url)}${line.startsWith('timeout') ? ' || true' : ''}`
    const { stdout } = await run('sh', ['-c', command])
    outputs.push(stdout)
  }
  const [created, , packet, feature, events, stopped] = outputs
  expect(JSON.parse(created ?? '')).toMatchObject({ id: 'uav', klv: { available: true, state: 'playing' } })
  expect(JSON.parse(packet ?? '')).toMatchObject({ pipeline_id: 'uav', values: { mission_id: 'SYNTHETIC' }, stale: false })
  expect(JSON.parse(feature ?? '')).toMatchObject({ type: 'Feature', geometry: { type: 'Point', coordinates: expect.any(Array) } })
  expect(events?.match(/^event: klv$/gm)?.length).toBeGreaterThan(5)
  expect(JSON.parse(stopped ?? '')).toMatchObject({
    klv: { available: true, state: 'stopped' },
    geolocation: { latitude: expect.any(Number) },
  })
  await service.stop()
})
