import { describe, expect, it } from 'vitest'
import { layerViolations } from '../../build.mjs'

const metafile = (file: string, path: string, more: Record<string, unknown> = {}) => ({
  inputs: { [file]: { bytes: 1, imports: [{ path, kind: 'import-statement', ...more }] } },
})

describe('the layer check of the build', () => {
  it.each([
    ['handlers/pipelines.ts', 'lib/pipelines.ts'],
    ['handlers/node.ts', 'db/client.ts'],
    ['handlers/node/http-server.ts', 'handlers/router.ts'],
    ['db/pipelines.ts', 'lib/ports.ts'],
    ['engine/supervisor.ts', 'lib/schema/pipeline.ts'],
    ['engine/rtsp/publisher.ts', 'engine/rtp/stream.ts'],
    ['engine/klv/packet.ts', 'engine/klv/tags.ts'],
  ])('lets %s import %s', (file, path) => {
    expect(layerViolations(metafile(file, path))).toEqual([])
  })

  it.each([
    ['handlers/pipelines.ts', 'db/client.ts'],
    ['handlers/pipelines.ts', 'engine/supervisor.ts'],
    ['handlers/pipelines.ts', 'handlers/node.ts'],
    ['lib/pipelines.ts', 'handlers/router.ts'],
    ['lib/pipelines.ts', 'db/client.ts'],
    ['db/pipelines.ts', 'handlers/app.ts'],
    ['engine/supervisor.ts', 'handlers/app.ts'],
    ['engine/supervisor.ts', 'db/client.ts'],
    ['engine/rtsp/publisher.ts', 'engine/supervisor.ts'],
    ['engine/rtp/stream.ts', 'engine/rtsp/publisher.ts'],
    ['engine/klv/packet.ts', 'engine/rtp/stream.ts'],
  ])('refuses that %s imports %s', (file, path) => {
    expect(layerViolations(metafile(file, path))).toEqual([`${file} imports ${path}: the layers forbid it`])
  })

  it.each(['handlers/pipelines.ts', 'lib/pipelines.ts', 'db/client.ts', 'engine/klv/packet.ts'])('refuses Node in %s', (file) => {
    expect(layerViolations(metafile(file, 'node:fs', { external: true }))).toEqual([
      `${file} imports node:fs: this folder is runtime-neutral`,
    ])
  })

  it('lets one file alone start processes', () => {
    const execa = { path: 'node_modules/execa/index.js', original: 'execa' }
    expect(layerViolations(metafile('engine/child.ts', execa.path, execa))).toEqual([])
    expect(layerViolations(metafile('engine/source.ts', execa.path, execa))).toEqual(['engine/source.ts imports execa: only one file may'])
  })
})
