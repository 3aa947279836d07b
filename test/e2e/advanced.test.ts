import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ffprobe } from '../helpers/media/players.ts'
import { childrenOf, pidOf } from '../helpers/process/processes.ts'
import { type Answer, type Service, startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { until } from '../helpers/until.ts'

const create = (service: Service, id: string, raw_pipeline: string, more: object = {}) =>
  service.request('POST', '/svc/pipeline', { id, mode: 'advanced', raw_pipeline, ...more })

const settings = async (service: Service, advanced: object): Promise<void> => {
  const { status } = await service.request('PUT', '/svc/settings', { advanced })
  expect(status).toBe(200)
}

const failedPipeline = (service: Service, id: string): Promise<Answer> =>
  until(
    () => service.request('GET', `/svc/pipeline/${id}`),
    ({ body }) => body.runtime.phase === 'failed',
  )

describe('an advanced pipeline without pay0', () => {
  it('that dies at once is no pipeline that plays: create and play answer 500 with the cause', async () => {
    const service = await startService()
    for (const [id, description, cause] of [
      ['broken', 'videotestsrc ! identity error-after=3 ! fakesink', 'Failed after iterations as requested'],
      ['ended', 'videotestsrc is-live=true ! identity eos-after=3 ! fakesink', 'ended the stream'],
      ['refused', 'videotestsrc is-live=true ! x264enc ! flvmux ! rtmp2sink location=rtmp://127.0.0.1:1/x/y', 'refuses the connection'],
    ] as const) {
      const created = await create(service, id, description)
      const failure = { code: 'ENGINE_ERROR', details: { cause: expect.stringContaining(cause) } }
      expect(created, description).toMatchObject({ status: 500, body: failure })
      expect((await service.request('GET', `/svc/pipeline/${id}`)).status).toBe(404)
      expect((await create(service, id, description, { on_demand: true })).status).toBe(201)
      expect(await service.request('PUT', `/svc/pipeline/${id}/play`)).toMatchObject({ status: 500, body: failure })
      expect(await service.request('GET', `/svc/pipeline/${id}`)).toMatchObject({ body: { state: 'ready', runtime: { phase: 'failed' } } })
    }
    expect(childrenOf(service.enginePid())).toEqual([])
  })

  it('plays when it has lived for half a second, and one with pay0 does not wait for that', async () => {
    const service = await startService()
    const began = performance.now()
    expect(await create(service, 'silent', 'videotestsrc is-live=true ! fakesink')).toMatchObject({
      status: 201,
      body: { state: 'playing' },
    })
    expect(performance.now() - began).toBeGreaterThan(500)
    const encoder = 'x264enc tune=zerolatency speed-preset=ultrafast'
    const published = await create(service, 'published', `videotestsrc is-live=true ! ${encoder} ! rtph264pay name=pay0`)
    expect(published.status).toBe(201)
    await service.request('PUT', '/svc/pipeline/published/stop')
    const again = performance.now()
    expect((await service.request('PUT', '/svc/pipeline/published/play')).status).toBe(200)
    expect(performance.now() - again).toBeLessThan(500)
  })
})

it('an advanced pipeline is created with one dry run of gst-launch-1.0, and played again without another', async () => {
  const folder = temporaryDataDir()
  const [program, runs] = [join(folder, 'gst-launch-1.0'), join(folder, 'runs')]
  const installed = execFileSync('which', ['gst-launch-1.0'], { encoding: 'utf8' }).trim()
  writeFileSync(program, `#!/bin/sh\necho "$*" >> ${runs}\nexec ${installed} "$@"\n`, { mode: 0o755 })
  const service = await startService({ env: { PATH: `${folder}${delimiter}${process.env.PATH}`, SVC_SANDBOX: 'off' } })
  const description = 'videotestsrc is-live=true ! x264enc tune=zerolatency ! rtph264pay name=pay0'
  const started = (): readonly string[] =>
    readFileSync(runs, 'utf8')
      .split('\n')
      .filter((line) => line.includes(description))
  expect((await create(service, 'counted', description)).status).toBe(201)
  await service.request('PUT', '/svc/pipeline/counted/stop')
  expect((await service.request('PUT', '/svc/pipeline/counted/play')).status).toBe(200)
  const [dryRun, ...plays] = started()
  expect(dryRun).toContain('GST_ELEMENT_FACTORY')
  expect(plays.map((line) => line.startsWith('-v -- '))).toEqual([true, true])
})

describe('settings that no longer allow an advanced pipeline', () => {
  const REFUSED = 'The element identity is not allowed here'

  it('are checked at each start: play, restart after a crash, service start', async () => {
    const first = await startService()
    const { dataDir } = first
    await create(first, 'plays', 'videotestsrc is-live=true ! identity ! fakesink')
    await create(first, 'stopped', 'videotestsrc is-live=true ! identity name=a ! fakesink')
    await first.request('PUT', '/svc/pipeline/stopped/stop')
    await settings(first, { denied_elements: ['identity'] })
    expect(await first.request('PUT', '/svc/pipeline/stopped/play')).toMatchObject({
      status: 500,
      body: { code: 'ENGINE_ERROR', message: expect.stringContaining(REFUSED) },
    })
    expect((await create(first, 'new', 'videotestsrc ! identity ! fakesink')).body.message).toContain(REFUSED)
    const [child] = childrenOf(first.enginePid())
    process.kill(pidOf(child), 'SIGKILL')
    const failed = await failedPipeline(first, 'plays')
    expect(failed.body.runtime.last_error.message).toContain(REFUSED)

    await settings(first, { denied_elements: [] })
    expect((await first.request('PUT', '/svc/pipeline/plays/play')).status).toBe(200)
    await settings(first, { enabled: false })
    expect((await first.request('GET', '/svc/pipeline/plays')).body.state).toBe('playing')
    await first.stop()
    const second = await startService({ dataDir })
    const off = await failedPipeline(second, 'plays')
    expect(off.body.runtime.last_error.message).toContain('Advanced pipelines are switched off in the settings (advanced.enabled)')
    expect(childrenOf(second.enginePid())).toEqual([])
  })

  it('are checked when a reader starts it', async () => {
    const service = await startService()
    const encoder = 'x264enc tune=zerolatency speed-preset=ultrafast'
    const description = `videotestsrc is-live=true ! identity ! ${encoder} ! rtph264pay name=pay0`
    const created = await create(service, 'demand', description, { on_demand: true })
    await service.request('PUT', '/svc/pipeline/demand/stop')
    await settings(service, { denied_elements: ['identity'] })
    await expect(ffprobe(created.body.output.uri.replace('0.0.0.0', '127.0.0.1'))).rejects.toThrow()
    const { body } = await service.request('GET', '/svc/pipeline/demand')
    expect(body).toMatchObject({ state: 'ready', runtime: { last_error: { message: expect.stringContaining(REFUSED) } } })
  })

  it('keep the built-in elements denied, and are read back as they were set', async () => {
    const service = await startService()
    await settings(service, { denied_elements: [] })
    expect((await service.request('GET', '/svc/settings')).body.advanced).toEqual({ enabled: true, denied_elements: [] })
    for (const description of ['fdsrc fd=0 ! fakesink', 'shmsink']) {
      expect((await create(service, 'a', description)).status).toBe(400)
    }
  })
})
