import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'

const BALL = { mode: 'simple', source: { uri: 'test://ball' }, on_demand: true }
const OWN = { mode: 'advanced', raw_pipeline: 'videotestsrc is-live=true ! x264enc ! rtph264pay name=pay0', on_demand: true }

/** The plugins of this host without the encoders of H.264. */
const withoutEncoders = (): Record<string, string> => {
  const [line = ''] = /^ *Filename +\S+$/m.exec(execFileSync('gst-inspect-1.0', ['videoconvert']).toString()) ?? []
  const installed = join(line.trim().split(/ +/)[1] ?? '', '..')
  const folder = join(temporaryDataDir(), 'plugins')
  mkdirSync(folder)
  const encoders = /libgst(?:x264|openh264|x265|libav|va|vaapi|nvcodec|qsv|msdk|video4linux2|v4l2codecs|omx)\.so$/
  for (const name of readdirSync(installed)) if (!encoders.test(name)) symlinkSync(join(installed, name), join(folder, name))
  return { GST_PLUGIN_SYSTEM_PATH_1_0: folder, GST_REGISTRY: join(folder, '..', 'registry.bin') }
}

/** A search path with the programs of this host, without those of GStreamer. */
const withoutGstreamer = (): Record<string, string> => {
  const folder = join(temporaryDataDir(), 'bin')
  mkdirSync(folder)
  for (const name of readdirSync('/usr/bin')) if (!name.startsWith('gst-')) symlinkSync(join('/usr/bin', name), join(folder, name))
  return { PATH: folder }
}

describe('on a host without an encoder', () => {
  it('create, validate, replace, play and triggers alike answer 500 with the package to install', async () => {
    const service = await startService({ env: { ...withoutEncoders(), SVC_API_KEY: 'the-api-key-of-this-test' } })
    const passed = { id: 'passed', mode: 'simple', source: { uri: 'rtsp://127.0.0.1:9/none' }, on_demand: true }
    expect((await service.request('POST', '/svc/pipeline', passed)).status).toBe(201)
    const encoded = { ...passed, encoding: { codec: 'h264' } }
    const key = { 'x-api-key': 'the-api-key-of-this-test' }
    for (const [method, path, body, headers] of [
      ['POST', '/svc/pipeline', { id: 'ball', ...BALL }],
      ['POST', '/svc/pipeline', { id: 'ball', ...BALL, on_demand: false }],
      ['POST', '/svc/pipeline', { id: 'own', ...OWN }],
      ['POST', '/svc/pipeline/validate', { id: 'ball', ...BALL }],
      ['POST', '/svc/pipeline/validate', { id: 'own', ...OWN }],
      ['PUT', '/svc/pipeline/passed', encoded],
      ['PUT', '/svc/pipeline/passed', { ...OWN, id: 'passed' }],
      ['PUT', '/svc/triggers/mediaServer/publish?path=live', undefined, key],
    ] as const) {
      const answer = await service.request(method, path, body, headers)
      expect([method, path, answer.status, answer.body]).toEqual([
        method,
        path,
        500,
        {
          code: 'ENGINE_ERROR',
          message: expect.stringContaining('apt-get install gstreamer1.0-plugins-ugly'),
          details: { reason: 'missing_element', cause: expect.stringContaining('apt-get install gstreamer1.0-plugins-ugly') },
        },
      ])
    }
    // A name that no package has is a mistake in the description.
    const typo = await service.request('POST', '/svc/pipeline/validate', { ...OWN, id: 'own', raw_pipeline: 'videotestsrcc ! fakesink' })
    expect([typo.status, typo.body.code]).toEqual([400, 'VALIDATION_ERROR'])
    expect((await service.request('GET', '/svc/pipeline')).body).toHaveLength(1)
    expect(await service.stop()).toBe(0)
  })

  it('a pipeline whose encoder was removed later answers the same to play', async () => {
    const dataDir = temporaryDataDir()
    const before = await startService({ dataDir })
    expect((await before.request('POST', '/svc/pipeline', { id: 'ball', ...BALL })).status).toBe(201)
    await before.stop()
    const service = await startService({ dataDir, env: withoutEncoders() })
    const { status, body } = await service.request('PUT', '/svc/pipeline/ball/play')
    expect([status, body.code, body.details.reason]).toEqual([500, 'ENGINE_ERROR', 'missing_element'])
    expect(body.details.cause).toContain('apt-get install gstreamer1.0-plugins-ugly')
    await service.stop()
  })
})

describe('on a host that takes long to list the plugins, for a user without a home', () => {
  it('finds the engine at once', async () => {
    const scanner = join(temporaryDataDir(), 'slow-scanner')
    writeFileSync(scanner, '#!/bin/sh\nexec sleep 8\n', { mode: 0o755 })
    const service = await startService({ env: { HOME: '/proc/none', GST_PLUGIN_SCANNER: scanner, SVC_SANDBOX: 'off' } })
    expect(await service.waitForLog('service_ready')).toMatchObject({ gstreamer_version: expect.stringMatching(/^\d+\.\d+/) })
    expect(service.log.join('\n')).not.toContain('engine_lost')
    expect(await service.stop()).toBe(0)
  })
})

describe('on a host without GStreamer', () => {
  it('a client is told what to install', async () => {
    const service = await startService({ env: withoutGstreamer() })
    for (const [method, path, body] of [
      ['POST', '/svc/pipeline', { id: 'ball', ...BALL }],
      ['POST', '/svc/pipeline/validate', { id: 'own', ...OWN }],
    ] as const) {
      const answer = await service.request(method, path, body)
      expect([path, answer.status, answer.body]).toEqual([
        path,
        503,
        {
          code: 'SERVICE_UNAVAILABLE',
          message: 'GStreamer is not installed. Install it: apt-get install gstreamer1.0-tools',
          details: { reason: 'engine_missing', cause: expect.stringContaining('gstreamer1.0-tools') },
        },
      ])
    }
    await service.stop()
  })
})
