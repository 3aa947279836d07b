import { describe, expect, it } from 'vitest'
import { layerViolations } from '../../build.mjs'

const imports = (arrows: Readonly<Record<string, readonly string[]>>) => new Map(Object.entries(arrows))

describe('the layer check of the build', () => {
  it.each([
    ['handlers/pipelines.ts', 'lib/pipelines/find.ts'],
    ['handlers/node/main.ts', 'db/open.ts'],
    ['db/pipelines.ts', 'lib/repositories/repositories.ts'],
    ['engine/pipelines/supervisor.ts', 'lib/schema/pipeline.ts'],
    ['engine/mount/mount-point.ts', 'engine/rtp/stream.ts'],
    ['lib/st0601/packet.ts', 'lib/st0601/tags.ts'],
  ])('lets %s import %s', (file, path) => {
    expect(layerViolations(imports({ [file]: [path] }))).toEqual([])
  })

  it.each([
    ['handlers/pipelines.ts', 'db/open.ts', 'handlers may not import db'],
    ['handlers/pipelines.ts', 'engine/pipelines/supervisor.ts', 'handlers may not import engine/pipelines'],
    ['handlers/pipelines.ts', 'handlers/node/main.ts', 'handlers may not import handlers/node'],
    ['lib/pipelines/find.ts', 'db/open.ts', 'lib/pipelines may not import db'],
    ['lib/errors.ts', 'lib/pipelines/find.ts', 'lib may not import lib/pipelines'],
    ['db/pipelines.ts', 'handlers/app.ts', 'db may not import handlers'],
    ['engine/pipelines/supervisor.ts', 'handlers/app.ts', 'engine/pipelines may not import handlers'],
    ['engine/mount/mount-point.ts', 'engine/pipelines/actor.ts', 'engine/mount may not import engine/pipelines'],
  ])('refuses that %s imports %s', (file, path, why) => {
    expect(layerViolations(imports({ [file]: [path] }))).toEqual([`${file} imports ${path}: ${why}`])
  })

  it.each(['handlers/worker/worker.ts', 'lib/errors.ts', 'db/open.ts', 'lib/st0601/packet.ts'])('refuses Node.js in %s', (file) => {
    expect(layerViolations(imports({ [file]: ['node:fs'] }))).toEqual([`${file} imports node:fs: this room runs on every runtime`])
  })

  it('lets only one file start processes', () => {
    expect(layerViolations(imports({ 'engine/gst/child.ts': ['execa'] }))).toEqual([])
    expect(layerViolations(imports({ 'engine/sources/probe.ts': ['execa'] }))).toEqual([
      'engine/sources/probe.ts imports execa: only engine/gst/child.ts may',
    ])
  })

  it('finds circles between files and between folders', () => {
    expect(layerViolations(imports({ 'lib/log.ts': ['lib/ports.ts'], 'lib/ports.ts': ['lib/log.ts'] }))[0]).toBe(
      'circle: lib/log.ts → lib/ports.ts → lib/log.ts',
    )
    const arrows = { 'engine/rtp/stream.ts': ['engine/gst/element.ts'], 'engine/gst/child.ts': ['engine/rtp/caps.ts'] }
    const between = layerViolations(imports({ ...arrows, 'engine/gst/element.ts': [], 'engine/rtp/caps.ts': [] }))
    expect(between).toContain('circle: engine/rtp → engine/gst → engine/rtp')
  })

  it('requires a row for every folder', () => {
    expect(layerViolations(imports({ 'lib/attic/box.ts': ['lib/errors.ts'] }))).toEqual([
      'lib/attic/box.ts is in no room: give its folder a row in ROOMS of build.mjs',
    ])
  })
})
