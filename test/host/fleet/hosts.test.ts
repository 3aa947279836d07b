import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { createStores, openStores } from '../../../handlers/node/nats/stores.ts'
import { dashboardOf, useChromium } from '../../helpers/browser/dashboard.ts'
import { codeBlocks, readDocument } from '../../helpers/documents.ts'
import { type FleetView, openFleetView } from '../../helpers/nats/fleet.ts'
import { type NatsServer, startNatsServer } from '../../helpers/nats/nats-server.ts'
import { freePort } from '../../helpers/ports.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

// The server is configured as the documentation says, with its host that may see the others.
const [block = '', console = ''] = codeBlocks(readDocument('docs/fleet.md'), 'conf')
const configuration = block.replace(/^(?:listen|jetstream):.*\n/gm, '').replace('users: [\n', `users: [\n${console}\n`)
const port = await freePort()
const url = (user: string, password: string): string => `nats://${user}:${password}@127.0.0.1:${port}`
const PASSWORD = 'password-of-the-console'
const API_KEY = 'the-api-key-of-the-console'

const chromium = useChromium()
let server: NatsServer
let admin: FleetView
const dataDir = mkdtempSync(join(tmpdir(), 'svc-'))
let office: Service
const gate = shareService({
  SVC_NATS_URL: url('gate-a', 'PASSWORD-A'),
  SVC_HOST_NAME: 'gate-a',
  SVC_HOST_LABELS: 'site=north',
  SVC_API_KEY: API_KEY,
})
const KEY = { 'x-api-key': API_KEY }
const BALL = { uri: 'test://ball?width=320&height=240&fps=30' }

const ask = (host: string, request: object, of: Service = office) => of.request('POST', `/svc/fleet/hosts/${host}/request`, request, KEY)
const reportOf = async (host: string) =>
  (await office.request('GET', '/svc/fleet/hosts', undefined, KEY)).body.hosts?.find((one: { host: string }) => one.host === host)

beforeAll(async () => {
  const env = {
    SVC_NATS_URL: url('console', 'PASSWORD-C'),
    SVC_HOST_NAME: 'console',
    SVC_PASSWORD: PASSWORD,
    SVC_API_KEY: API_KEY,
    SVC_FLEET_CONTROL: '1',
  }
  office = await startService({ dataDir, env })
  server = await startNatsServer(configuration, port)
  admin = await openFleetView(server.url, { user: 'admin', pass: 'ADMIN-PASSWORD' })
  await createStores(admin.connection, await openStores(admin.connection))
  for (const host of ['console', 'gate-a']) await admin.untilActual(host, ({ health }) => health.fleet === 'linked')
})
afterAll(async () => {
  await admin.close()
  expect(await office.stop()).toBe(0)
  await server.remove()
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
})

it('a host with the rights of the documentation sees the others, and asks them', async () => {
  const { status, body } = await office.request('GET', '/svc/fleet/hosts', undefined, KEY)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    host: 'console',
    control: true,
    hosts: [
      { host: 'console', linked: true },
      { host: 'gate-a', labels: { site: 'north' }, linked: true },
    ],
  })
  const created = await ask('gate-a', { method: 'POST', path: '/svc/pipeline', body: { id: 'ball', mode: 'simple', source: BALL } })
  expect(created).toMatchObject({ status: 200, body: { status: 201, body: { id: 'ball', state: 'playing' } } })
  expect((await ask('gate-a', { path: '/svc/pipeline/ball/snapshot' })).body).toMatchObject({ status: 200, encoding: 'base64' })
  expect((await ask('nobody', { path: '/svc/health' })).body).toMatchObject({ code: 'NOT_FOUND', details: { reason: 'no_host' } })
  expect((await ask('*', { path: '/svc/health' })).body).toMatchObject({ code: 'NOT_FOUND', details: { reason: 'no_host' } })
})

it('a host without them sees and asks no other, and says why', async () => {
  expect(await gate.request('GET', '/svc/fleet/hosts', undefined, KEY)).toMatchObject({
    status: 403,
    body: { details: { reason: 'fleet_refused' } },
  })
  expect(await ask('console', { path: '/svc/health' }, gate)).toMatchObject({ status: 403, body: { details: { reason: 'fleet_refused' } } })
})

it('a host asks no third one, whoever asks', async () => {
  for (const path of ['/svc/fleet/hosts', '/svc/x/../fleet/hosts'])
    expect(await admin.api('gate-a', { path })).toMatchObject({ status: 403, body: { details: { reason: 'fleet_relay' } } })
})

it('a report of something else is no host, and names no other host', async () => {
  const rival = await openFleetView(server.url, { user: 'gate-b', pass: 'PASSWORD-B', inboxPrefix: '_INBOX.gate-b' })
  onTestFinished(() => rival.close())
  const report = await admin.actual('gate-a')
  await rival.connection.request('$KV.vps-actual.gate-b', JSON.stringify({ ...report, host: 'gate-a', labels: 5 }))
  expect(
    await until(
      () => reportOf('gate-a'),
      (one) => one !== undefined,
    ),
  ).toMatchObject({ labels: { site: 'north' } })
  expect(await reportOf('gate-b')).toBeUndefined()
  await rival.connection.request('$KV.vps-actual.gate-b', JSON.stringify({ ...report, labels: { site: 'south' } }))
  expect(
    await until(
      () => reportOf('gate-b'),
      (one) => one !== undefined,
    ),
  ).toMatchObject({ host: 'gate-b', labels: { site: 'south' } })
  expect((await ask('gate-b', { path: '/svc/health' })).body).toMatchObject({ details: { reason: 'host_not_linked' } })
})

it('the dashboard shows hosts with pictures, drift and errors, and the pipelines of one through the fleet', async () => {
  const ball = { id: 'ball', mode: 'simple', source: BALL }
  const asked = { id: 'asked', source: { uri: 'rtsp://127.0.0.1:9/asked' }, on_demand: true }
  expect((await gate.request('POST', '/svc/pipeline', { ...asked, id: 'left', mode: 'simple' }, KEY)).status).toBe(201)
  const revision = await admin.put('gate-a', { manage: 'create-only', pipelines: [ball, asked] })
  await admin.untilActual(
    'gate-a',
    ({ applied_revision, pipelines }) =>
      applied_revision === revision && pipelines.some(({ phase }: { phase: string }) => phase === 'playing'),
  )
  const { page, link, heading, button, shows, field, expectQuiet, expectAccessible } = await chromium.open({ at: dashboardOf(office) })
  await field('Password').fill(PASSWORD)
  await button('Log in').click()
  await link('Hosts').click()
  await heading('gate-a').waitFor()
  await page.getByAltText('Preview of ball on gate-a').waitFor()
  await shows('1 difference')
  await expectAccessible()
  await link('gate-a').click()
  await shows('Is not in the document')
  await page.getByAltText('Preview of ball on gate-a').waitFor()
  await expectAccessible()
  await button('Stop ball on gate-a').click()
  await button('Play ball on gate-a').waitFor()
  expect((await gate.request('GET', '/svc/pipeline/ball', undefined, KEY)).body.runtime.desired).toBe('ready')
  await admin.put('gate-a', { pipelines: [{ ...asked, colour: 'red' }] })
  await shows(/colour/)
  await link('All hosts').click()
  await page.getByRole('searchbox').fill('site=north')
  await shows('Error')
  expectQuiet()
})
