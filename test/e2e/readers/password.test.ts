import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../helpers/ports.ts'
import { startService } from '../../helpers/process/service.ts'
import { makeCertificate } from '../../helpers/rtsp/certificate.ts'
import { digest } from '../../helpers/rtsp/credentials.ts'

import { connectReader } from '../../helpers/rtsp/reader.ts'
import { changeSettings, command, createPipeline, portOf, read, viewOf } from '../../helpers/service/pipelines.ts'
import { until } from '../../helpers/until.ts'

const run = promisify(execFile)
const PASSWORD = 'Kestrel: "<&>" 9'
const describeStatus = async (url: string, password?: string) => {
  const reader = await connectReader(url, password === undefined ? {} : { authorize: digest({ password }) })
  const { status } = await reader.describe()
  await reader.close()
  return status
}

/** Arguments and environments of all processes. */
const processTexts = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) =>
      ['cmdline', 'environ'].map((file) => {
        try {
          return readFileSync(`/proc/${pid}/${file}`, 'utf8')
        } catch {
          // It has ended, or belongs to another user.
          return ''
        }
      }),
    )

describe('the password of readers', () => {
  it('protects every output from the moment it is set, over restarts of service and engine, and shows nowhere', async () => {
    const service = await startService({ env: { SVC_LOG_LEVEL: 'debug' } })
    const events = await fetch(`${service.url}/svc/events`)
    const seen: string[] = []
    const reading = (async () => {
      const text = new TextDecoder()
      for await (const chunk of events.body ?? []) seen.push(text.decode(chunk, { stream: true }))
    })().catch(() => {})
    const url = await createPipeline(service, 'gate')
    const early = await read(url)
    await early.until(() => early.count > 5)
    expect((await changeSettings(service, { readers: { authentication: 'password', password: PASSWORD } })).readers.password).toBe('***')
    await early.closed
    const demanded = await createPipeline(service, 'demanded', { on_demand: true })
    expect([await describeStatus(url), await describeStatus(demanded)]).toEqual([401, 401])
    expect((await viewOf(service, 'demanded')).runtime.phase).toBe('idle')
    expect([await describeStatus(url, PASSWORD), await describeStatus(demanded, PASSWORD)]).toEqual([200, 200])

    // A change of other settings, and settings sent back as they were read, leave readers alone.
    const steady = await read(url, { authorize: digest({ password: PASSWORD }) })
    await changeSettings(service, (await service.request('GET', '/svc/settings')).body)
    const before = steady.count
    await steady.until(() => steady.count > before + 15)

    process.kill(service.enginePid(), 'SIGKILL')
    await steady.closed
    const status = await until(
      () => describeStatus(url).catch(() => 0),
      (answer) => answer !== 0,
    )
    expect(status).toBe(401)
    expect(await describeStatus(url, 'Kestrel: wrong')).toBe(401)

    const texts = processTexts().join('\n')
    expect(await service.stop()).toBe(0)
    await reading
    for (const text of [service.log.join('\n'), seen.join(''), texts]) {
      expect(text.length).toBeGreaterThan(100)
      expect(text).not.toContain('Kestrel')
    }

    const again = await startService({ dataDir: service.dataDir })
    expect((await again.request('GET', '/svc/settings')).body.readers).toMatchObject({ authentication: 'password', password: '***' })
    expect([await describeStatus(url), await describeStatus(url, PASSWORD)]).toEqual([401, 200])
  })
})

describe('the outputs of a service', () => {
  it('share one port and one address and speak rtsps, as the environment says', async () => {
    const certificate = makeCertificate()
    onTestFinished(() => certificate.remove())
    const port = await freePort()
    const service = await startService({
      env: {
        SVC_OUTPUT_PORTS: String(port),
        SVC_OUTPUT_HOST: '127.0.0.1',
        SVC_OUTPUT_TLS_CERT: certificate.cert,
        SVC_OUTPUT_TLS_KEY: certificate.key,
        SVC_OUTPUT_TLS: 'required',
      },
    })
    const shared = ['one', 'two', 'demanded'].map((id) => `rtsp://127.0.0.1:${port}/${id}`)
    const [one = '', two = ''] = shared
    expect([
      await createPipeline(service, 'one'),
      await createPipeline(service, 'two'),
      await createPipeline(service, 'demanded', { on_demand: true }),
    ]).toEqual(shared)
    const elsewhere = await freePort('127.0.0.2')
    const own = `rtsp://127.0.0.2:${elsewhere}/own`
    expect(await createPipeline(service, 'own', { output: { uri: own } })).toBe(own)
    const check = async (address: string): Promise<void> => {
      const frames = ['-frames:v', '10', '-f', 'null', '-']
      await run('ffmpeg', ['-nostdin', '-v', 'error', '-i', address.replace('rtsp:', 'rtsps:'), ...frames], { timeout: 25_000 })
      expect(await describeStatus(address)).toBe(403)
    }
    await Promise.all([...shared, own].map(check))
    await expect(connectReader(one.replace('127.0.0.1', '127.0.0.3'))).rejects.toThrow('ECONNREFUSED')

    // One that stops does not disturb the others on the port.
    const reader = await read(two.replace('rtsp:', 'rtsps:'))
    expect((await command(service, 'one', 'stop')).status).toBe(200)
    expect((await service.request('DELETE', '/svc/pipeline/one')).status).toBe(204)
    const before = reader.count
    await reader.until(() => reader.count > before + 15)
    expect(portOf(await createPipeline(service, 'three'))).toBe(port)
  })

  it('cannot be required to use TLS without a certificate', async () => {
    await expect(startService({ env: { SVC_OUTPUT_TLS: 'required' } })).rejects.toThrow('SVC_OUTPUT_TLS=required: set SVC_OUTPUT_TLS_CERT')
  })
})
