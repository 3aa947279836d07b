import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FleetView, openFleetView } from '../../helpers/nats/fleet.ts'
import { type NatsServer, startNatsServer } from '../../helpers/nats/nats-server.ts'
import { freePort } from '../../helpers/ports.ts'
import { type CommandOptions, runCommand } from '../../helpers/process/command.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const port = await freePort()
const url = `nats://127.0.0.1:${port}`
let server: NatsServer
let fleet: FleetView
// The server comes after the service, as after an outage.
const service = shareService({ SVC_NATS_URL: url, SVC_HOST_NAME: 'yard', SVC_HOST_LABELS: 'site=north' })
const run = (words: readonly string[], options: CommandOptions = {}) =>
  runCommand(['fleet', ...words], { ...options, env: { SVC_NATS_URL: url, ...options.env } })
const camera = (id: string) => ({ id, source: { uri: `rtsp://127.0.0.1:9/${id}` }, on_demand: true })

beforeAll(async () => {
  server = await startNatsServer('', port)
  fleet = await openFleetView(url)
  await fleet.untilActual('yard', ({ health }) => health.fleet === 'linked')
})
afterAll(async () => {
  await fleet.close()
  await server.remove()
})

it('lists the hosts, and shows one', async () => {
  const [head, row = ''] = (await run(['ls'])).stdout.split('\n').map((line) => line.split(/ {2,}/))
  expect([head, row.slice(0, 5)]).toEqual([
    ['HOST', 'STATE', 'DOCUMENT', 'PLAYING', 'LABELS', 'VERSION', 'SEEN'],
    ['yard', 'linked', '–', '0/0', 'site=north'],
  ])
  expect(JSON.parse((await run(['ls', '--json'])).stdout)).toMatchObject([{ host: 'yard', labels: { site: 'north' } }])
  expect((await run(['get', 'yard'])).stdout).toMatch(/^yard {2}linked\n/)
  expect(await run(['get', 'nobody'])).toMatchObject({ status: 1, stderr: expect.stringContaining('The fleet has no host nobody') })
})

it('stores documents by name and by labels, and says what would change', async () => {
  const file = join(temporaryDataDir(), 'fleet.yaml')
  writeFileSync(
    file,
    'selectors:\n  - labels: { site: north }\n    document:\n      pipelines:\n        - id: a\n          source: { uri: "rtsp://127.0.0.1:9/a" }\n          on_demand: true\n',
  )
  expect((await run(['apply', '-f', file, '--dry-run'])).stdout).toBe('+ yard\n    + a\n')
  expect((await fleet.actual('yard')).desired_revision).toBeNull()
  expect((await run(['apply', '-f', file])).stdout).toBe('+ yard  revision 1\n    + a\n')
  await fleet.untilActual('yard', ({ applied_revision }) => applied_revision === 1)
  expect((await run(['apply', '-f', file])).stdout).toBe('= yard\n')
  const plain = JSON.stringify({ pipelines: [camera('b')] })
  expect((await run(['apply', '-f', '-', '--host', 'yard'], { input: plain })).stdout).toBe('~ yard  revision 2\n    + b\n    - a\n')
  await fleet.untilActual('yard', ({ applied_revision }) => applied_revision === 2)
})

it.each([
  [{ hosts: { nobody: { pipelines: [] } } }, 1, 'The fleet has no host nobody'],
  [{ hosts: { yard: { pipelines: [{ ...camera('b'), colour: 'red' }] } } }, 1, 'standard input: hosts.yard: pipelines[0].colour'],
  [{ selectors: [{ labels: { site: 1 }, document: {} }] }, 1, 'selectors[0]: Use labels'],
  [{ pipelines: [] }, 1, 'pipelines: Unknown field'],
])('stores nothing of %j', async (input, status, message) => {
  const before = (await fleet.actual('yard')).desired_revision
  expect(await run(['apply', '-f', '-'], { input: JSON.stringify(input) })).toMatchObject({
    status,
    stderr: expect.stringContaining(message),
  })
  expect((await fleet.actual('yard')).desired_revision).toBe(before)
})

it('sends requests to a host, with the exit codes of other commands', async () => {
  const body = JSON.stringify(camera('c'))
  expect(JSON.parse((await run(['api', 'yard', 'POST', '/svc/pipeline/validate', '-d', body])).stdout)).toMatchObject({ valid: true })
  expect(await run(['api', 'yard', 'GET', '/svc/pipeline/none'])).toMatchObject({
    status: 3,
    stderr: expect.stringContaining('No pipeline has the id'),
  })
  expect((await run(['api', 'yard', 'GET', '/svc/events'])).status).toBe(1)
  expect(await run(['api', 'nobody', 'GET', '/svc/health'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('The fleet has no host nobody'),
  })
})

it('follows the events of a host', async () => {
  let hasEnded = false
  const following = run(['events', 'yard', '--json'], { until: (text) => text.includes('"event":"pipeline_status"') })
  void following.finally(() => {
    hasEnded = true
  })
  // It follows from its start on, which nothing tells.
  for (let count = 0; !hasEnded; count += 1) await service.request('POST', '/svc/pipeline', camera(`event-${count}`))
  const { status, stdout } = await following
  expect(status).toBe(0)
  expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({ host: 'yard', event: 'pipeline_status' })
})

it.each([
  [[], 2, 'ACTION is one of ls, get HOST, apply -f FILE'],
  [['get'], 2, 'Use fleet as'],
  [['apply'], 2, 'Use -f FILE'],
  [['ls', '--url', 'http://x'], 2, "Unknown option '--url'"],
  [['api', 'yard', 'GET', '/svc/health', '-d', '{'], 2, 'Use -d with JSON'],
])('fleet %j is a mistake of the command line', async (words, status, message) => {
  expect(await run(words)).toMatchObject({ status, stderr: expect.stringContaining(message) })
})

it('says which server does not answer, and which variable is missing, without a password', async () => {
  const nowhere = `nats://admin:hidden-word@127.0.0.1:${await freePort()}`
  const { status, stderr } = await run(['ls'], { env: { SVC_NATS_URL: nowhere } })
  expect([status, stderr]).toEqual([1, expect.stringContaining('No server of the fleet at 127.0.0.1')])
  expect(stderr).not.toContain('hidden-word')
  expect(await run(['ls'], { env: { SVC_NATS_URL: '' } })).toMatchObject({ status: 2, stderr: expect.stringContaining('Set SVC_NATS_URL') })
})

it('completes actions', async () => {
  const { stdout } = await runCommand(['__complete', 'fleet', 'a'])
  expect(stdout).toBe('apply\tstore what is desired of the hosts of a file\napi\tsend a request to a host\n')
})
