import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listeningPorts, mediaChildren } from '../helpers/api/host-truth.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { connectReader, openReader, type RtspReader } from '../helpers/rtsp/reader.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

const BALL = { uri: 'test://ball?width=160&height=120&fps=15' }
const NOWHERE = { uri: 'rtsp://127.0.0.1:1/away' }

const createOnDemand = async (service: Service, id: string, source = BALL): Promise<string> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, mode: 'simple', on_demand: true, source })
  expect({ status, state: body.state }).toEqual({ status: 201, state: 'ready' })
  return body.output.uri.replace('0.0.0.0', '127.0.0.1')
}

const view = async (service: Service, id: string) => (await service.request('GET', `/svc/pipeline/${id}`)).body

const comesTo = (service: Service, id: string, phase: string) =>
  until(
    () => view(service, id),
    ({ runtime }) => runtime.phase === phase,
  )

const attach = async (url: string): Promise<RtspReader> => {
  const reader = await openReader(url)
  onTestFinished(() => reader.close())
  return reader
}

const portOf = (url: string): number => Number(new URL(url.replace(/^rtsp/, 'http')).port)

describe('an on-demand pipeline', () => {
  it('is started by its first reader, shared by the others, and stopped some time after the last', async () => {
    const service = await startService()
    await service.request('PUT', '/svc/settings', { on_demand: { close_after_seconds: 1 } })
    const url = await createOnDemand(service, 'demanded')
    expect(mediaChildren(service.enginePid())).toEqual([])
    const readers = await Promise.all([attach(url), attach(url), attach(url)])
    expect(mediaChildren(service.enginePid())).toHaveLength(1)
    expect(await view(service, 'demanded')).toMatchObject({ state: 'playing', runtime: { desired: 'ready', readers: 3 } })
    for (const reader of readers) {
      await reader.until(() => reader.count > 20)
      await reader.close()
    }
    expect(await comesTo(service, 'demanded', 'idle')).toMatchObject({ state: 'ready', runtime: { readers: 0, last_error: null } })
    expect(mediaChildren(service.enginePid())).toEqual([])
    const again = await attach(url)
    await again.until(() => again.count > 20)
    await service.stop()
  })

  it('keeps running when the next reader comes before it is stopped', async () => {
    const service = await startService()
    await service.request('PUT', '/svc/settings', { on_demand: { close_after_seconds: 3 } })
    const url = await createOnDemand(service, 'demanded')
    const [child] = await attach(url).then(async (first) => {
      await first.close()
      return mediaChildren(service.enginePid())
    })
    const second = await attach(url)
    const since = performance.now()
    await second.until(() => performance.now() - since > 3500)
    expect(mediaChildren(service.enginePid())).toEqual([child])
    await service.stop()
  })

  it('keeps running without readers after play, and disconnects its readers at stop', async () => {
    const service = await startService()
    await service.request('PUT', '/svc/settings', { on_demand: { close_after_seconds: 1 } })
    const url = await createOnDemand(service, 'demanded')
    const reader = await attach(url)
    expect((await service.request('PUT', '/svc/pipeline/demanded/play')).body.runtime.desired).toBe('playing')
    await reader.close()
    const watcher = await attach(await createOnDemand(service, 'clock'))
    const since = performance.now()
    await watcher.until(() => performance.now() - since > 1500)
    expect((await view(service, 'demanded')).state).toBe('playing')

    const other = await attach(url)
    expect((await service.request('PUT', '/svc/pipeline/demanded/stop')).body).toMatchObject({
      state: 'ready',
      runtime: { desired: 'ready' },
    })
    await other.closed
    expect(await view(service, 'demanded')).toMatchObject({ state: 'ready', runtime: { phase: 'idle', readers: 0 } })
    await service.stop()
  })

  it('answers its readers with an error when the start fails, without delay when it cannot succeed', async () => {
    const service = await startService()
    await service.request('PUT', '/svc/settings', { start_timeout_seconds: 2 })
    const source = await startRtspSource()
    onTestFinished(() => source.stop())
    const absent = await createOnDemand(service, 'absent', { uri: source.url('/no-such-path') })
    const away = await createOnDemand(service, 'away', NOWHERE)
    const [first, second] = [await connectReader(absent), await connectReader(away)]
    onTestFinished(() => first.close())
    onTestFinished(() => second.close())
    const asked = performance.now()
    expect((await first.describe()).status).toBe(503)
    expect(performance.now() - asked).toBeLessThan(1500)
    expect((await second.describe()).status).toBe(504)
    expect(await view(service, 'away')).toMatchObject({
      state: 'ready',
      runtime: { phase: 'failed', last_error: { message: expect.stringContaining('refuses') } },
    })
    expect(first.open).toBe(true)
    await service.stop()
  })

  it('answers a reader with an error also when it has played before and its description is known', async () => {
    const service = await startService()
    await service.request('PUT', '/svc/settings', { start_timeout_seconds: 1, on_demand: { close_after_seconds: 1 } })
    const source = await startRtspSource(['--gop-seconds', '0.5'])
    const url = await createOnDemand(service, 'left', { uri: source.url('/h264') })
    const reader = await attach(url)
    await reader.close()
    await comesTo(service, 'left', 'idle')
    await source.stop()
    const late = await connectReader(url)
    onTestFinished(() => late.close())
    expect((await late.describe()).status).toBe(504)
    await service.stop()
  })

  it('is started by a reader that sent DESCRIBE before it was stopped', async () => {
    const service = await startService()
    const url = await createOnDemand(service, 'demanded')
    const reader = await connectReader(url)
    onTestFinished(() => reader.close())
    expect((await reader.describe()).status).toBe(200)
    expect((await reader.setUp(0)).status).toBe(200)
    await service.request('PUT', '/svc/pipeline/demanded/stop')
    expect((await reader.play()).status).toBe(200)
    await reader.until(() => reader.count > 20)
    expect((await view(service, 'demanded')).runtime).toMatchObject({ phase: 'playing', desired: 'ready', readers: 1 })
    await service.stop()
  })

  it('disconnects its readers when its source stays away, so that they can reconnect', async () => {
    const service = await startService()
    await service.request('PUT', '/svc/settings', { reconnect: { initial_delay_ms: 100, max_delay_seconds: 1, give_up_after_seconds: 1 } })
    const source = await startRtspSource(['--gop-seconds', '0.5'])
    const reader = await attach(await createOnDemand(service, 'gone', { uri: source.url('/h264') }))
    await source.stop()
    await reader.closed
    expect(await comesTo(service, 'gone', 'failed')).toMatchObject({ state: 'ready', runtime: { readers: 0 } })
    await service.stop()
  })

  it('listens or not as the settings say, as soon as they change', async () => {
    const service = await startService()
    const ready = await createOnDemand(service, 'ready')
    const playing = await createOnDemand(service, 'playing')
    const reader = await attach(playing)
    const open = () => listeningPorts(service.enginePid())
    expect(open()).toEqual(expect.arrayContaining([portOf(ready), portOf(playing)]))
    await service.request('PUT', '/svc/settings', { on_demand: { start_on_read: false, close_after_seconds: 1 } })
    await until(open, (ports) => !ports.includes(portOf(ready)))
    expect(reader.open).toBe(true)
    await reader.close()
    await until(open, (ports) => !ports.includes(portOf(playing)))
    await service.request('PUT', '/svc/settings', { on_demand: { start_on_read: true } })
    await until(open, (ports) => ports.includes(portOf(ready)) && ports.includes(portOf(playing)))
    const again = await attach(ready)
    await again.until(() => again.count > 5)
    await service.stop()
  })

  it('is not started by a reader beyond the license, and is once the license allows it', async () => {
    const dataDir = temporaryDataDir()
    const licenseFile = join(dataDir, 'license.json')
    const allow = (license: Record<string, unknown>) =>
      writeFileSync(licenseFile, JSON.stringify({ licensee: 'test', codecs: [], ...license }))
    allow({ max_streams: 1 })
    const service = await startService({ dataDir, env: { SVC_LICENSE_FILE: licenseFile } })
    const [one, other] = [await createOnDemand(service, 'one'), await createOnDemand(service, 'other')]
    await attach(one)
    const asking = await connectReader(other)
    onTestFinished(() => asking.close())
    expect((await asking.describe()).status).toBe(402)
    expect(await view(service, 'other')).toMatchObject({ state: 'ready', runtime: { phase: 'idle' } })
    allow({ max_streams: 2 })
    await until(
      () => asking.describe(),
      ({ status }) => status === 200,
    )
    await service.request('PUT', '/svc/pipeline/other/stop')
    allow({ max_streams: 2, expires: '2020-01-01' })
    await until(
      async () => {
        const again = await connectReader(other)
        const { status } = await again.describe()
        await again.close()
        if (status === 200) await service.request('PUT', '/svc/pipeline/other/stop')
        return status
      },
      (status) => status === 402,
    )
    expect((await view(service, 'one')).state).toBe('playing')
    await service.stop()
  })
})
