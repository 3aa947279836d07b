import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createPluginRegistry } from '../../../../engine/sandbox/plugin-registry.ts'

it('a list of plugins that was not finished leaves no file behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'registry-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gstreamer-registry.bin')
  writeFileSync(file, 'the list of before')
  const registry = createPluginRegistry(file, async (_program, _args, { environment }) => {
    // As GStreamer that is killed while it writes.
    writeFileSync(`${environment.GST_REGISTRY}.tmp9B55Y3`, 'half of the list')
    return { exitCode: null, stdout: '' }
  })
  await registry.refresh()
  expect(readdirSync(folder)).toEqual(['gstreamer-registry.bin'])
})

it('a list of plugins whose folder is gone is done without', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'registry-'))
  const registry = createPluginRegistry(join(folder, 'gstreamer-registry.bin'), async () => {
    rmSync(folder, { recursive: true })
    return { exitCode: 1, stdout: '' }
  })
  await registry.refresh()
  expect(registry.options()).toEqual([])
})
