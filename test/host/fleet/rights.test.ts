import { headers } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createStores, openStores } from '../../../handlers/node/nats/stores.ts'
import { codeBlocks, readDocument } from '../../helpers/documents.ts'
import { type FleetView, openFleetView } from '../../helpers/nats/fleet.ts'
import { type NatsServer, startNatsServer } from '../../helpers/nats/nats-server.ts'
import { freePort } from '../../helpers/ports.ts'
import { runCommand } from '../../helpers/process/command.ts'
import { shareService } from '../../helpers/service/share-service.ts'

// The server is configured as the documentation says.
const [block = ''] = codeBlocks(readDocument('docs/fleet.md'), 'conf')
const configuration = block.replace(/^(?:listen|jetstream):.*\n/gm, '')
const port = await freePort()
const url = (user: string, password: string): string => `nats://${user}:${password}@127.0.0.1:${port}`

let server: NatsServer
let admin: FleetView
let rival: FleetView
const service = shareService({ SVC_NATS_URL: url('gate-a', 'PASSWORD-A'), SVC_HOST_NAME: 'gate-a' })

beforeAll(async () => {
  server = await startNatsServer(configuration, port)
  admin = await openFleetView(server.url, { user: 'admin', pass: 'ADMIN-PASSWORD' })
  rival = await openFleetView(server.url, { user: 'gate-b', pass: 'PASSWORD-B', inboxPrefix: '_INBOX.gate-b' })
})
afterAll(async () => {
  await Promise.all([admin.close(), rival.close()])
  await server.remove()
})

it('a host that may not create the stores waits for them, and says so', async () => {
  await service.waitForLog('fleet_stores_not_created')
  expect((await service.request('GET', '/svc/health')).body).toMatchObject({ fleet: 'waiting' })
  await createStores(admin.connection, await openStores(admin.connection))
  await admin.untilActual('gate-a', ({ health }) => health.fleet === 'linked')
})

it('a host needs no other rights than those of the documentation', async () => {
  const revision = await admin.put('gate-a', { pipelines: [{ id: 'a', source: { uri: 'rtsp://127.0.0.1:9/a' }, on_demand: true }] })
  await admin.untilActual('gate-a', ({ applied_revision }) => applied_revision === revision)
  expect(await admin.api('gate-a', { path: '/svc/pipeline/a' })).toMatchObject({ status: 200 })
  expect((await admin.events('gate-a')).length).toBeGreaterThan(0)
  expect(service.log.filter((line) => line.includes('ermissions'))).toEqual(
    service.log.filter((line) => line.includes('fleet_stores_not_created')),
  )
})

const REFUSED_SUBJECTS = [
  '$KV.vps-desired.gate-a',
  '$KV.vps-actual.gate-a',
  'vps.events.gate-a.*',
  'vps.api.gate-a',
  '_INBOX.gate-a.>',
  '_INBOX.>',
  'vps.>',
  '$KV.>',
  '>',
]

it.each(REFUSED_SUBJECTS)('a host cannot read %s of another', async (subject) => {
  const refused = new Promise((resolve) => rival.connection.subscribe(subject, { callback: (error) => resolve(error) }))
  expect(await refused).toMatchObject({ operation: 'subscription' })
})

const REFUSED_MESSAGES: readonly (readonly [subject: string, body: object | string])[] = [
  ['$KV.vps-desired.gate-a', '{}'],
  ['$KV.vps-desired.gate-b', '{}'],
  ['$KV.vps-actual.gate-a', '{}'],
  ['vps.events.gate-a.pipeline_status', '{}'],
  ['vps.api.gate-a', { path: '/svc/pipeline' }],
  ['$JS.API.DIRECT.GET.KV_vps-desired.$KV.vps-desired.gate-a', ''],
  ['$JS.API.DIRECT.GET.KV_vps-desired', { last_by_subj: '$KV.vps-desired.gate-a' }],
  ['$JS.API.STREAM.MSG.GET.KV_vps-desired', { last_by_subj: '$KV.vps-desired.gate-a' }],
  ['$JS.API.STREAM.INFO.KV_vps-desired', ''],
  ['$JS.API.STREAM.PURGE.KV_vps-actual', ''],
  ['$JS.API.STREAM.DELETE.VPS_EVENTS', ''],
  ['$JS.API.CONSUMER.CREATE.VPS_EVENTS', { stream_name: 'VPS_EVENTS', config: { ack_policy: 'none', deliver_subject: '_INBOX.gate-b.x' } }],
]

it.each(REFUSED_MESSAGES)('a host cannot send to %s', async (subject, body) => {
  const request = rival.connection.request(subject, typeof body === 'string' ? body : JSON.stringify(body), { timeout: 3000 })
  await expect(request).rejects.toMatchObject({ cause: { operation: 'publish', subject } })
})

it('a host cannot clear the reports of others by a roll-up', async () => {
  for (const scope of ['all', 'sub']) {
    const header = headers()
    header.set('Nats-Rollup', scope)
    const answer = await rival.connection.request('$KV.vps-actual.gate-b', '{}', { headers: header, timeout: 3000 })
    expect(answer.json()).toMatchObject({ error: { description: 'rollup not permitted' } })
  }
  expect(await admin.actual('gate-a')).toMatchObject({ host: 'gate-a' })
})

it('the command says that the user of a host may not use it', async () => {
  const answer = await runCommand(['fleet', 'ls'], { env: { SVC_NATS_URL: url('gate-a', 'PASSWORD-A') } })
  expect(answer).toMatchObject({ status: 1, stderr: expect.stringContaining('do not let this user do that') })
})
