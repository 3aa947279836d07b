import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ffmpegDecode, ffprobe } from '../../helpers/media/players.ts'
import { childrenOf, pidOf } from '../../helpers/process/processes.ts'
import { startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { changeSettings, command, createPipeline, untilPhase, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

const service = shareService()
const PUBLISHED = 'x264enc tune=zerolatency speed-preset=ultrafast ! rtph264pay name=pay0'

const post = (raw_pipeline: string, more: object = {}) =>
  service.request('POST', '/svc/pipeline', { id: 'refused', mode: 'advanced', raw_pipeline, ...more })

describe('an advanced pipeline without pay0', () => {
  it.each([
    ['breaks', 'videotestsrc ! identity error-after=3 ! fakesink', 'Failed after iterations as requested'],
    ['ends', 'videotestsrc is-live=true ! identity eos-after=3 ! fakesink', 'ended the stream'],
    ['is refused', 'videotestsrc is-live=true ! x264enc ! flvmux ! rtmp2sink location=rtmp://127.0.0.1:1/x/y', 'refuses the connection'],
  ])('that %s at once does not play: create and play answer 500 with the cause', async (_what, description, cause) => {
    const failure = { status: 500, body: { code: 'ENGINE_ERROR', details: { cause: expect.stringContaining(cause) } } }
    expect(await post(description)).toMatchObject(failure)
    expect((await service.request('GET', '/svc/pipeline/refused')).status).toBe(404)
    await createPipeline(service, 'stored', { raw_pipeline: description, on_demand: true })
    expect(await command(service, 'stored', 'play')).toMatchObject(failure)
    expect(await viewOf(service, 'stored')).toMatchObject({ state: 'ready', runtime: { phase: 'failed' } })
    expect(childrenOf(service.enginePid())).toEqual([])
  })

  it('plays when it has lived for half a second, and one with pay0 does not wait for that', async () => {
    const began = performance.now()
    expect(await createPipeline(service, 'silent', { raw_pipeline: 'videotestsrc is-live=true ! fakesink' })).toBe('')
    expect(performance.now() - began).toBeGreaterThan(500)
    const url = await createPipeline(service, 'published', { raw_pipeline: `videotestsrc is-live=true ! ${PUBLISHED} config-interval=-1` })
    expect(await ffmpegDecode(url, 30)).toEqual({ frames: 30, errors: [] })
    const startMs = async (): Promise<number> => {
      await command(service, 'published', 'stop')
      const again = performance.now()
      expect((await command(service, 'published', 'play')).status).toBe(200)
      return performance.now() - again
    }
    // A busy host may need longer for one start, but not for each.
    await until(startMs, (ms) => ms < 500)
  })
})

it('an advanced pipeline is created with one dry run of gst-launch-1.0, and played again without another', async () => {
  const folder = temporaryDataDir()
  const [program, runs] = [join(folder, 'gst-launch-1.0'), join(folder, 'runs')]
  const installed = execFileSync('which', ['gst-launch-1.0'], { encoding: 'utf8' }).trim()
  writeFileSync(program, `#!/bin/sh\necho "$*" >> ${runs}\nexec ${installed} "$@"\n`, { mode: 0o755 })
  const counting = await startService({ env: { PATH: `${folder}${delimiter}${process.env.PATH}`, SVC_SANDBOX: 'off' } })
  const raw_pipeline = `videotestsrc is-live=true ! ${PUBLISHED}`
  await createPipeline(counting, 'counted', { raw_pipeline })
  await command(counting, 'counted', 'stop')
  expect((await command(counting, 'counted', 'play')).status).toBe(200)
  const lines = readFileSync(runs, 'utf8').split('\n')
  const [dryRun, ...plays] = lines.filter((line) => line.includes(raw_pipeline))
  expect(dryRun).toContain('GST_ELEMENT_FACTORY')
  expect(plays.map((line) => line.startsWith('-v -- '))).toEqual([true, true])
})

describe('settings that no longer allow an advanced pipeline', () => {
  const REFUSED = 'The element identity is not allowed here'

  it('are checked at each start: play, restart after a crash, service start', async () => {
    const first = await startService()
    await createPipeline(first, 'plays', { raw_pipeline: 'videotestsrc is-live=true ! identity ! fakesink' })
    await createPipeline(first, 'stopped', { raw_pipeline: 'videotestsrc is-live=true ! identity name=a ! fakesink' })
    await command(first, 'stopped', 'stop')
    await changeSettings(first, { advanced: { denied_elements: ['identity'] } })
    expect(await command(first, 'stopped', 'play')).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN', message: expect.stringContaining(REFUSED), details: { reason: 'denied_element' } },
    })
    process.kill(pidOf(childrenOf(first.enginePid())[0]), 'SIGKILL')
    expect((await untilPhase(first, 'plays', 'failed')).runtime.last_error.message).toContain(REFUSED)

    await changeSettings(first, { advanced: { denied_elements: [] } })
    expect((await command(first, 'plays', 'play')).status).toBe(200)
    await changeSettings(first, { advanced: { enabled: false } })
    expect((await viewOf(first, 'plays')).state).toBe('playing')
    await first.stop()
    const second = await startService({ dataDir: first.dataDir })
    const off = await untilPhase(second, 'plays', 'failed')
    expect(off.runtime.last_error.message).toContain('Advanced pipelines are switched off in the settings (advanced.enabled)')
    expect(childrenOf(second.enginePid())).toEqual([])
  })

  it('are checked when it is created, and when a reader starts it', async () => {
    const url = await createPipeline(service, 'demand', {
      raw_pipeline: `videotestsrc is-live=true ! identity ! ${PUBLISHED}`,
      on_demand: true,
    })
    await changeSettings(service, { advanced: { denied_elements: ['identity'] } })
    expect((await post('videotestsrc ! identity ! fakesink')).body.message).toContain(REFUSED)
    await expect(ffprobe(url)).rejects.toThrow()
    // The reader is refused a moment before the API has the event.
    await expect
      .poll(() => viewOf(service, 'demand'))
      .toMatchObject({
        state: 'ready',
        runtime: { last_error: { message: expect.stringContaining(REFUSED) } },
      })
  })

  it('keep the built-in elements denied', async () => {
    expect((await changeSettings(service, { advanced: { denied_elements: [] } })).advanced).toEqual({ enabled: true, denied_elements: [] })
    for (const description of ['fdsrc fd=0 ! fakesink', 'shmsink']) expect((await post(description)).status).toBe(400)
  })
})
