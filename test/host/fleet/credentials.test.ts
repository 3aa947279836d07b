import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { credsAuthenticator } from '@nats-io/transport-node'
import { expect, it, onTestFinished } from 'vitest'
import { openFleetView } from '../../helpers/nats/fleet.ts'
import { startNatsServer } from '../../helpers/nats/nats-server.ts'
import { makeOperator } from '../../helpers/nats/operator.ts'
import { startService } from '../../helpers/process/service.ts'
import { makeCertificate } from '../../helpers/rtsp/certificate.ts'

it('a host joins with a credentials file over TLS, and neither log nor state has the seed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'creds-'))
  const certificate = makeCertificate('localhost')
  const operator = makeOperator()
  const server = await startNatsServer(
    `${operator.configuration}\ntls { cert_file: "${certificate.cert}", key_file: "${certificate.key}" }`,
  )
  const file = join(folder, 'host.creds')
  writeFileSync(file, operator.credentials)
  onTestFinished(async () => {
    await server.remove()
    certificate.remove()
    rmSync(folder, { recursive: true })
  })
  const env = {
    SVC_NATS_URL: server.url.replace('nats://127.0.0.1', 'tls://localhost'),
    SVC_NATS_CREDENTIALS: file,
    SVC_HOST_NAME: 'north_1',
    NODE_EXTRA_CA_CERTS: certificate.cert,
  }
  const service = await startService({ env })
  const authenticator = credsAuthenticator(Buffer.from(operator.credentials))
  const fleet = await openFleetView(server.url, { authenticator, tls: { caFile: certificate.cert } })
  const state = await fleet.untilActual('north_1', ({ health }) => health.fleet === 'linked')
  await fleet.close()
  expect(await service.stop()).toBe(0)
  for (const text of [JSON.stringify(state), service.log.join('\n')])
    expect(text).not.toMatch(new RegExp(`${operator.seed}|${operator.jwt}`))
})

it('a wrong password is said once, without showing it', async () => {
  const server = await startNatsServer('authorization { users: [ { user: host, password: right } ] }')
  onTestFinished(() => server.remove())
  const service = await startService({ env: { SVC_NATS_URL: server.url.replace('://', '://host:hidden-word@') } })
  expect(await service.waitForLog('fleet_not_linked')).toMatchObject({ error: 'Authorization Violation' })
  expect((await service.request('GET', '/svc/health')).body).toMatchObject({
    status: 'ok',
    fleet: 'waiting',
    warnings: ['fleet_not_linked'],
  })
  expect(await service.stop()).toBe(0)
  expect(service.log.filter((line) => line.includes('fleet_not_linked')).length).toBe(1)
  expect(service.log.join('\n')).not.toContain('hidden-word')
})
