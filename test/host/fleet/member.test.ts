import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FleetView, openFleetView } from '../../helpers/nats/fleet.ts'
import { type NatsServer, startNatsServer } from '../../helpers/nats/nats-server.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { until } from '../../helpers/until.ts'

const HOST = 'gate-north'
const camera = (id: string, more: object = {}) => ({
  id,
  mode: 'simple',
  source: { uri: `rtsp://user:hidden-word@127.0.0.1:9/${id}` },
  on_demand: true,
  ...more,
})

let server: NatsServer
let fleet: FleetView
let service: Service

const start = (): Promise<Service> =>
  startService({
    dataDir,
    env: { SVC_NATS_URL: server.url, SVC_HOST_NAME: 'gate.north', SVC_HOST_LABELS: 'site=north,kind=gate' },
  })
const ids = async () => ((await service.request('GET', '/svc/pipeline')).body as { id: string }[]).map(({ id }) => id).sort()
let dataDir: string

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'svc-'))
  server = await startNatsServer()
  fleet = await openFleetView(server.url)
  service = await start()
})
afterAll(async () => {
  await fleet.close()
  expect(await service.stop()).toBe(0)
  await server.remove()
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
})

it('creates what the fleet lacks, and reports name, labels, health and pipelines', async () => {
  const state = await fleet.untilActual(HOST, ({ health }) => health.engine === 'ok')
  expect(state).toMatchObject({
    host: HOST,
    labels: { site: 'north', kind: 'gate' },
    desired_revision: null,
    applied_revision: null,
    error: null,
    drift: [],
    health: { status: 'ok', fleet: 'linked' },
    pipelines: [],
  })
  expect((await service.request('GET', '/svc/health')).body).toMatchObject({ status: 'ok', fleet: 'linked' })
})

it('applies a document when it changes, and removes what it no longer has', async () => {
  const first = await fleet.put(HOST, { pipelines: [camera('a'), camera('b')] })
  const state = await fleet.untilActual(HOST, ({ applied_revision }) => applied_revision === first)
  expect(state.pipelines).toMatchObject([
    { id: 'a', state: 'ready', phase: 'idle' },
    { id: 'b', state: 'ready', phase: 'idle' },
  ])
  const second = await fleet.put(HOST, `pipelines:\n  - ${JSON.stringify(camera('b'))}\n  - ${JSON.stringify(camera('c'))}\n`)
  await fleet.untilActual(HOST, ({ applied_revision, pipelines }) => applied_revision === second && pipelines.length === 2)
  expect(await ids()).toEqual(['b', 'c'])
})

it('keeps what it has after an invalid document, and says what is wrong with it', async () => {
  const { applied_revision } = await fleet.actual(HOST)
  const bad = await fleet.put(HOST, { pipelines: [camera('b', { colour: 'red' })] })
  const state = await fleet.untilActual(HOST, ({ desired_revision, error }) => desired_revision === bad && error !== null)
  expect(state).toMatchObject({ applied_revision, error: expect.stringContaining('colour') })
  expect(state.error).not.toContain('hidden-word')
  expect(await ids()).toEqual(['b', 'c'])
})

it('changes nothing when its document is deleted', async () => {
  const connection = await fleet.put(HOST, { pipelines: [camera('b'), camera('c')] })
  await fleet.untilActual(HOST, ({ applied_revision }) => applied_revision === connection)
  await fleet.delete(HOST)
  await fleet.untilActual(HOST, ({ desired_revision }) => desired_revision === null)
  expect(await ids()).toEqual(['b', 'c'])
})

it('reports what a person changes, and changes it back', async () => {
  const revision = await fleet.put(HOST, { pipelines: [camera('b'), camera('c')] })
  await fleet.untilActual(HOST, ({ applied_revision }) => applied_revision === revision)
  const drifts: unknown[] = []
  const watch = await fleet.watchActual(HOST, ({ drift }) => drifts.push(...drift))
  await service.request('DELETE', '/svc/pipeline/b')
  await fleet.untilActual(HOST, ({ pipelines }) => pipelines.length === 2 && drifts.length > 0)
  expect(drifts).toContainEqual({ id: 'b', kind: 'missing', fields: [] })
  await service.request('PATCH', '/svc/pipeline/c', { geolocation: { latitude: 1, longitude: 2 } })
  await fleet.untilActual(HOST, ({ drift }) => drift.length === 0 && drifts.length > 1)
  watch()
  expect(await ids()).toEqual(['b', 'c'])
  expect((await service.request('GET', '/svc/pipeline/c')).body.geolocation).toBeNull()
})

it('changes settings back too, and sets no password again for nothing', async () => {
  const settings = { screenshots: { quality: 50 }, readers: { password: 'reader-password' } }
  const revision = await fleet.put(HOST, { pipelines: [camera('b'), camera('c')], settings })
  await fleet.untilActual(HOST, ({ applied_revision }) => applied_revision === revision)
  const drifts: unknown[] = []
  const watch = await fleet.watchActual(HOST, ({ drift }) => drifts.push(...drift))
  expect((await service.request('PUT', '/svc/settings', { screenshots: { quality: 60 } })).status).toBe(200)
  await until(
    async () => (await service.request('GET', '/svc/settings')).body.screenshots.quality,
    (quality) => quality === 50,
  )
  await fleet.untilActual(HOST, ({ drift }) => drift.length === 0 && drifts.length > 0)
  watch()
  // Each report has it until it is gone.
  expect(new Set(drifts.map((drift) => JSON.stringify(drift)))).toEqual(
    new Set([JSON.stringify({ id: null, kind: 'settings', fields: ['screenshots.quality'] })]),
  )
})

it('creates what is missing, and only reports the rest, where the document says create-only', async () => {
  const revision = await fleet.put(HOST, {
    manage: 'create-only',
    pipelines: [camera('b', { source: { uri: 'rtsp://127.0.0.1/other' } }), camera('d')],
  })
  const state = await fleet.untilActual(HOST, ({ applied_revision, drift }) => applied_revision === revision && drift.length > 0)
  expect(state.drift).toEqual([
    { id: 'c', kind: 'extra', fields: [] },
    { id: 'b', kind: 'changed', fields: ['source.uri'] },
  ])
  expect(await ids()).toEqual(['b', 'c', 'd'])
})

it('answers requests of the fleet with the rights of the API key', async () => {
  const created = await fleet.api(HOST, { method: 'POST', path: '/svc/pipeline', headers: {}, body: camera('e') })
  expect(created).toMatchObject({
    status: 201,
    headers: { 'content-type': 'application/json' },
    body: { id: 'e', source: { uri: 'rtsp://***@127.0.0.1:9/e' } },
  })
  expect(await fleet.api(HOST, { method: 'GET', path: '/svc/pipeline/nothing' })).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND' },
  })
  expect(await fleet.api(HOST, { path: '/svc/recordings/key' })).toMatchObject({
    status: 200,
    body: expect.stringContaining('BEGIN PUBLIC KEY'),
  })
  for (const path of ['/svc/events', '/svc/pipeline/e/status/events'])
    expect(await fleet.api(HOST, { path })).toMatchObject({
      status: 413,
      body: { code: 'PAYLOAD_TOO_LARGE', details: { reason: 'too_large_for_fleet' } },
    })
  for (const request of [
    null,
    'text',
    { path: 'http://example.org/' },
    { path: '//x/svc/' },
    { path: '/svc/health', headers: { 'a b': 'c' } },
    { path: '/svc/health', method: 'GET', body: {} },
  ])
    expect(await fleet.api(HOST, request)).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } })
})

it('answers a picture as base64', async () => {
  const body = { id: 'ball', mode: 'simple', source: { uri: 'test://ball?width=320&height=240&fps=30' } }
  expect(await fleet.api(HOST, { method: 'POST', path: '/svc/pipeline', body })).toMatchObject({ status: 201 })
  const picture = await fleet.api(HOST, { path: '/svc/pipeline/ball/snapshot' })
  expect(picture).toMatchObject({ status: 200, encoding: 'base64', headers: { 'content-type': 'image/jpeg' } })
  expect(Buffer.from(picture.body, 'base64').subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]))
})

it('keeps passwords out of state, events and log', async () => {
  const texts = [JSON.stringify(await fleet.actual(HOST)), JSON.stringify(await fleet.events(HOST)), service.log.join('\n')]
  for (const text of texts) expect(text).not.toContain('hidden-word')
  // Events are those of the API.
  expect(texts[1]).toContain('pipeline_status')
})

it('sends events once and in order while the server is killed, also over a restart of the service', async () => {
  const before = (await fleet.events(HOST)).length
  await server.kill()
  for (const id of ['x1', 'x2', 'x3']) expect((await service.request('POST', '/svc/pipeline', camera(id))).status).toBe(201)
  await service.waitForLog('fleet_not_linked')
  expect((await service.request('GET', '/svc/health')).body).toMatchObject({
    status: 'ok',
    fleet: 'waiting',
    warnings: ['fleet_not_linked'],
  })
  expect(await service.stop()).toBe(0)
  service = await start()
  expect((await service.request('POST', '/svc/pipeline', camera('x4'))).status).toBe(201)
  await server.start()
  await fleet.untilActual(HOST, ({ pipelines }) => pipelines.some(({ id }: { id: string }) => id === 'x4'))
  const stored = await until(
    () => fleet.events(HOST),
    (events) => events.some(({ message }) => message.data.id === 'x4'),
  )
  const events = stored.slice(before)
  const created = events.filter(({ message }) => message.event === 'pipeline_status').map(({ message }) => message.data.id)
  expect([...new Set(created)].filter((id) => id.startsWith('x'))).toEqual(['x1', 'x2', 'x3', 'x4'])
  const messageIds = events.map(({ messageId }) => messageId)
  expect(new Set(messageIds).size).toBe(messageIds.length)
  for (const { message, messageId } of events) expect(messageId).toBe(`${HOST}:${message.id}`)
})

it('keeps what it has when the store is replaced by an empty one, and says so', async () => {
  const revision = await fleet.put(HOST, { pipelines: [camera('b')] })
  await fleet.untilActual(HOST, ({ applied_revision }) => applied_revision === revision)
  await server.kill()
  await server.start({ empty: true })
  const state = await fleet.untilActual(HOST, ({ desired_revision }) => desired_revision === null)
  expect(state).toMatchObject({ applied_revision: revision, error: expect.stringContaining(`revision ${revision}`) })
  expect(await ids()).toEqual(['b'])
  expect(await fleet.put(HOST, { pipelines: [camera('n')] })).toBe(1)
  await fleet.untilActual(HOST, ({ applied_revision }) => applied_revision === 1)
  expect(await ids()).toEqual(['n'])
})

it('takes no document of a new store for the one that had its revision in the last store', async () => {
  await server.kill()
  await server.start({ empty: true })
  await fleet.untilActual(HOST, ({ desired_revision }) => desired_revision === null)
  expect(await fleet.put(HOST, { pipelines: [camera('n', { colour: 'red' })] })).toBe(1)
  const state = await fleet.untilActual(HOST, ({ desired_revision, error }) => desired_revision === 1 && error !== null)
  expect(state).toMatchObject({ applied_revision: null, error: expect.stringContaining('colour') })
  expect(await fleet.put(HOST, { pipelines: [camera('n')] })).toBe(2)
  await fleet.untilActual(HOST, ({ applied_revision }) => applied_revision === 2)
})

it('holds the last document without a link, also after a restart', async () => {
  await server.kill()
  expect(await service.stop()).toBe(0)
  service = await start()
  await service.request('DELETE', '/svc/pipeline/n')
  await service.waitForLog('fleet_pipeline_changed')
  expect(await ids()).toEqual(['n'])
  expect(readFileSync(join(dataDir, 'fleet.json'), 'utf8')).toContain('"applied_revision":2')
  await server.start()
})
