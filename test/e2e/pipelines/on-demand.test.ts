import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listeningPorts, mediaChildren } from '../../helpers/api/host-truth.ts'
import { startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { connectReader } from '../../helpers/rtsp/reader.ts'
import { changeSettings, command, createPipeline, openSource, portOf, read, untilPhase, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

const service = shareService()
const NOWHERE = 'rtsp://127.0.0.1:1/away'
const SMALL = 'test://ball?width=160&height=120&fps=15'

const createOnDemand = (id: string, uri = SMALL): Promise<string> => createPipeline(service, id, { on_demand: true, source: { uri } })

const connect = async (url: string) => {
  const reader = await connectReader(url)
  onTestFinished(() => reader.close())
  return reader
}

describe('an on-demand pipeline', () => {
  it('is started by its first reader, shared by the others, and stopped some time after the last', async () => {
    await changeSettings(service, { on_demand: { close_after_seconds: 1 } })
    const url = await createOnDemand('demanded')
    expect(mediaChildren(service.enginePid())).toEqual([])
    const readers = await Promise.all([read(url), read(url), read(url)])
    expect(mediaChildren(service.enginePid())).toHaveLength(1)
    expect(await viewOf(service, 'demanded')).toMatchObject({ state: 'playing', runtime: { desired: 'ready', readers: 3 } })
    for (const reader of readers) {
      await reader.until(() => reader.count > 20)
      await reader.close()
    }
    expect(await untilPhase(service, 'demanded', 'idle')).toMatchObject({ state: 'ready', runtime: { readers: 0, last_error: null } })
    expect(mediaChildren(service.enginePid())).toEqual([])
    const again = await read(url)
    await again.until(() => again.count > 20)
  })

  it('keeps running when the next reader comes before it is stopped', async () => {
    await changeSettings(service, { on_demand: { close_after_seconds: 3 } })
    const url = await createOnDemand('demanded')
    await (await read(url)).close()
    const children = mediaChildren(service.enginePid())
    const second = await read(url)
    const since = performance.now()
    await second.until(() => performance.now() - since > 3500)
    expect(mediaChildren(service.enginePid())).toEqual(children)
  })

  it('keeps running without readers after play, and disconnects its readers at stop', async () => {
    await changeSettings(service, { on_demand: { close_after_seconds: 1 } })
    const url = await createOnDemand('demanded')
    const reader = await read(url)
    expect((await command(service, 'demanded', 'play')).body.runtime.desired).toBe('playing')
    await reader.close()
    const clock = await read(await createOnDemand('clock'))
    const since = performance.now()
    await clock.until(() => performance.now() - since > 1500)
    expect((await viewOf(service, 'demanded')).state).toBe('playing')

    const other = await read(url)
    expect((await command(service, 'demanded', 'stop')).body).toMatchObject({ state: 'ready', runtime: { desired: 'ready' } })
    await other.closed
    expect(await viewOf(service, 'demanded')).toMatchObject({ state: 'ready', runtime: { phase: 'idle', readers: 0 } })
  })

  it('answers its readers with an error when the start fails, without delay when it cannot succeed', async () => {
    await changeSettings(service, { start_timeout_seconds: 15 })
    const source = await openSource('--gop-seconds', '0.5')
    const first = await connect(await createOnDemand('absent', source.url('/no-such-path')))
    const second = await connect(await createOnDemand('away', NOWHERE))
    const asked = performance.now()
    expect((await first.describe()).status).toBe(503)
    expect(performance.now() - asked).toBeLessThan(8000)
    await changeSettings(service, { start_timeout_seconds: 1 })
    expect((await second.describe()).status).toBe(504)
    expect(await viewOf(service, 'away')).toMatchObject({
      state: 'ready',
      runtime: { phase: 'failed', last_error: { message: expect.stringContaining('refuses') } },
    })
    expect(first.open).toBe(true)
  })

  it('answers clients of live video over HTTP with the cause when the start fails', async () => {
    await changeSettings(service, { start_timeout_seconds: 1 })
    await createOnDemand('away', NOWHERE)
    const body = { mode: 'simple', id: 'awaited', source: { uri: NOWHERE } }
    expect((await service.request('POST', '/svc/pipeline?start=background', body)).status).toBe(201)
    for (const path of ['away/video', 'away/stream.ts', 'awaited/video'])
      expect(await service.request('GET', `/svc/pipeline/${path}`)).toMatchObject({
        status: 504,
        body: { code: 'PIPELINE_START_TIMEOUT', details: { reason: 'unreachable', cause: expect.stringContaining('refuses') } },
      })
  })

  it('answers a reader with an error also when it has played before and its description is known', async () => {
    await changeSettings(service, { start_timeout_seconds: 1, on_demand: { close_after_seconds: 1 } })
    const source = await openSource('--gop-seconds', '0.5')
    const url = await createOnDemand('left', source.url('/h264'))
    await (await read(url)).close()
    await untilPhase(service, 'left', 'idle')
    await source.stop()
    expect((await (await connect(url)).describe()).status).toBe(504)
  })

  it('is started by a reader that sent DESCRIBE before it was stopped', async () => {
    const reader = await connect(await createOnDemand('demanded'))
    expect((await reader.describe()).status).toBe(200)
    expect((await reader.setUp(0)).status).toBe(200)
    await command(service, 'demanded', 'stop')
    expect((await reader.play()).status).toBe(200)
    await reader.until(() => reader.count > 20)
    expect((await viewOf(service, 'demanded')).runtime).toMatchObject({ phase: 'playing', desired: 'ready', readers: 1 })
  })

  it('disconnects its readers when its source stays away, so that they can reconnect', async () => {
    await changeSettings(service, { reconnect: { initial_delay_ms: 100, max_delay_seconds: 1, give_up_after_seconds: 1 } })
    const source = await openSource('--gop-seconds', '0.5')
    const reader = await read(await createOnDemand('gone', source.url('/h264')))
    await source.stop()
    await reader.closed
    expect(await untilPhase(service, 'gone', 'failed')).toMatchObject({ state: 'ready', runtime: { readers: 0 } })
  })

  it('listens or not as the settings say, as soon as they change', async () => {
    const [ready, playing] = [await createOnDemand('ready'), await createOnDemand('playing')]
    const reader = await read(playing)
    const open = () => listeningPorts(service.enginePid())
    expect(open()).toEqual(expect.arrayContaining([portOf(ready), portOf(playing)]))
    await changeSettings(service, { on_demand: { start_on_read: false, close_after_seconds: 1 } })
    await until(open, (ports) => !ports.includes(portOf(ready)))
    expect(reader.open).toBe(true)
    await reader.close()
    await until(open, (ports) => !ports.includes(portOf(playing)))
    await changeSettings(service, { on_demand: { start_on_read: true } })
    await until(open, (ports) => ports.includes(portOf(ready)) && ports.includes(portOf(playing)))
    const again = await read(ready)
    await again.until(() => again.count > 5)
  })

  it('is not started by a reader beyond the license, and is once the license allows it', async () => {
    const dataDir = temporaryDataDir()
    const licenseFile = join(dataDir, 'license.json')
    const allow = (license: Record<string, unknown>) =>
      writeFileSync(licenseFile, JSON.stringify({ licensee: 'test', codecs: [], ...license }))
    allow({ max_streams: 1 })
    const licensed = await startService({ dataDir, env: { SVC_LICENSE_FILE: licenseFile } })
    const small = { on_demand: true, source: { uri: SMALL } }
    const [one, other] = [await createPipeline(licensed, 'one', small), await createPipeline(licensed, 'other', small)]
    await read(one)
    const reader = await connect(other)
    expect((await reader.describe()).status).toBe(402)
    expect(await viewOf(licensed, 'other')).toMatchObject({ state: 'ready', runtime: { phase: 'idle' } })
    allow({ max_streams: 2 })
    await until(
      () => reader.describe(),
      ({ status }) => status === 200,
    )
    await command(licensed, 'other', 'stop')
    allow({ max_streams: 2, expires: '2020-01-01' })
    await until(
      async () => {
        const again = await connectReader(other)
        const { status } = await again.describe()
        await again.close()
        if (status === 200) await command(licensed, 'other', 'stop')
        return status
      },
      (status) => status === 402,
    )
    expect((await viewOf(licensed, 'one')).state).toBe('playing')
  })
})
