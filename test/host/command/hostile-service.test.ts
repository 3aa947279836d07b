import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { printableYaml } from '../../../handlers/cli/terminal/printable-yaml.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { runCommand, runInTerminal } from '../../helpers/process/command.ts'

/** Clears the screen, in 7 and in 8 bits, writes the clipboard, and turns text around. */
const EVIL = 'x\u001b[2J\u001b]52;c;aGk=\u0007\u009b2J\u007f\u202e\u061c\r\n\ty'

const RUNTIME = {
  phase: `failed${EVIL}`,
  desired: 'playing',
  since: '2026-11-20T10:00:00.000Z',
  fps: 0,
  bitrate_kbps: 0,
  readers: 0,
  last_error: { message: `lost${EVIL}`, at: '2026-11-20T10:00:00.000Z' },
  [`field${EVIL}`]: 1,
}

const PIPELINE = {
  id: `gate${EVIL}`,
  mode: 'simple',
  state: `ready${EVIL}`,
  source: { uri: `rtsp://10.0.0.5/${EVIL}` },
  output: { uri: `rtsp://0.0.0.0:8554/${EVIL}` },
  ephemeral: false,
  on_demand: true,
  runtime: RUNTIME,
}

const PHASES = ['idle', 'failed', 'constructor', `odd${EVIL}`]

const EVENTS = [
  ...PHASES.map((phase) => ['pipeline_status', { ...PIPELINE, runtime: { ...RUNTIME, phase } }]),
  ['pipeline_error', { pipeline_id: PIPELINE.id, message: `lost${EVIL}`, reason: `gone${EVIL}` }],
  ['camera_added', { device_path: `/dev/video0${EVIL}`, device_name: `Webcam${EVIL}` }],
  ['camera_removed', { device_path: `/dev/video0${EVIL}` }],
  [`news${EVIL.replaceAll(/[\r\n]/g, '')}`, { text: EVIL }],
  ['pipeline_not_found', { pipeline_id: PIPELINE.id }],
] as const

const ANSWERS: Readonly<Record<string, readonly [status: number, body: unknown]>> = {
  'GET /svc/pipeline': [200, PHASES.map((phase) => ({ ...PIPELINE, runtime: { ...RUNTIME, phase } }))],
  'GET /svc/pipeline/gate': [200, PIPELINE],
  'PUT /svc/pipeline/gate/play': [200, { ...PIPELINE, state: 'playing' }],
  'PUT /svc/pipeline/gate/stop': [409, { code: `CONFLICT${EVIL}`, message: `no${EVIL}`, details: { reason: EVIL } }],
}

const server = createServer(({ method, url }, response) => {
  const path = new URL(url ?? '', 'http://service').pathname
  if (path.endsWith('/events')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [name, data] of EVENTS) response.write(`id: 1-1\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
    return
  }
  const [status, body] = ANSWERS[`${method} ${path}`] ?? [500, `not JSON${EVIL}`]
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
})

let env: Readonly<Record<string, string>>

beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  env = { SVC_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, SVC_API_KEY: 'a-key-of-its-own', NO_COLOR: '1' }
})

afterAll(() => {
  server.closeAllConnections()
  server.close()
})

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
const FORBIDDEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

const COMMANDS = ['ls', 'ls -q', 'get gate', 'play gate', 'stop gate', 'delete gate', 'export']

describe('a service that wants to write to the terminal of its client', () => {
  it.each([...COMMANDS, 'get gate --json', 'stop gate --json'])('is shown without control characters by %s', async (line) => {
    const { stdout, stderr } = await runCommand(line.split(' '), { env })
    expect(stdout + stderr).not.toMatch(FORBIDDEN)
    expect(stdout + stderr).toMatch(/\\u001b|not JSON|answer/)
  })

  it('is drawn without them on a terminal', async () => {
    for (const args of [['ls'], ['get', 'gate'], ['play', 'gate'], ['stop', 'gate']]) {
      const { stdout } = await runInTerminal(args, 200, { env })
      // The sequences with which progress is drawn, and the line ends of a terminal.
      const own = ['\u001b[?25l', '\u001b[?25h', '\u001b[K', '\u001b[J', '\u001b[1A', '\r']
      expect(own.reduce((text, sequence) => text.replaceAll(sequence, ''), stdout)).not.toMatch(FORBIDDEN)
    }
  })

  it.each(['events', 'events --json'])('is followed without them by %s', async (line) => {
    const { stdout } = await runCommand(line.split(' '), { env, until: (text) => text.split('\n').length > EVENTS.length })
    expect(stdout).not.toMatch(FORBIDDEN)
    expect(stdout.trimEnd().split('\n').length).toBeGreaterThanOrEqual(EVENTS.length)
  })

  it('is the same for programs: JSON and YAML mean what was sent', async () => {
    expect(JSON.parse((await runCommand(['get', 'gate', '--json'], { env })).stdout)).toEqual(PIPELINE)

    const text = printableYaml({ pipelines: [{ description: EVIL, [`key${EVIL}`]: 'plain', raw_pipeline: 'a !\nb' }] })
    expect(text).not.toMatch(FORBIDDEN)
    expect(text).toContain('raw_pipeline: |-\n')
    expect(parse(text)).toEqual({ pipelines: [{ description: EVIL, [`key${EVIL}`]: 'plain', raw_pipeline: 'a !\nb' }] })
  })
})

it('a service whose clock is a day ahead is shown with its own time', async () => {
  const now = Date.now() + 86_400_000
  const runtime = { ...RUNTIME, phase: 'playing', since: new Date(now - 20_000).toISOString() }
  const gate = { ...PIPELINE, id: 'gate', state: 'playing', runtime }
  const { url: SVC_URL } = await startHttpServer(({ url }, response) => {
    response.setHeader('date', new Date(now).toUTCString()).setHeader('content-type', 'application/json')
    response.end(JSON.stringify(url === '/svc/pipeline' ? [gate] : gate))
  })
  const run = async (...args: readonly string[]) => (await runCommand(args, { env: { ...env, SVC_URL } })).stdout
  expect(await run('ls')).toMatch(/^gate .* (?:19|2\d) ?s /m)
  expect(await run('get', 'gate')).toMatch(/runtime\.since .*\((?:19|2\d) ?s ago\)/)
})
