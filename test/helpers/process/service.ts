import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { freePort, portIsFree } from '../ports.ts'
import { givePluginList } from '../run/plugin-list.ts'

const ENTRY = resolve(import.meta.dirname, '../../../dist/node.js')
const NODE = process.execPath

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of many shapes
  readonly body: any
}

export interface Service {
  readonly url: string
  readonly dataDir: string
  readonly webRtcPort: number
  readonly pid: number
  /** Every log line so far, of the API process and the engine. */
  readonly log: readonly string[]
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Pid of the current engine. */
  enginePid(): number
  /** SIGTERM to the API process; answers its exit code. */
  stop(): Promise<number | null>
  /** kill -9 of the API process alone. */
  kill(): Promise<void>
  waitForLog(event: string, count?: number): Promise<Record<string, unknown>>
}

/** Starts the built service on a free port, as `npm start` does, and waits until it is ready. */
export const startService = async (
  options: {
    readonly dataDir?: string
    readonly env?: Record<string, string>
    readonly args?: readonly string[]
    readonly prefix?: readonly string[]
    /** dist/node.js of another build. */
    readonly entry?: string
  } = {},
): Promise<Service> => {
  // temporaryDataDir needs a running test; measurements pass their own directory.
  const dataDir = options.dataDir ?? (await import('./temporary-data-dir.ts')).temporaryDataDir()
  givePluginList(dataDir)
  // The prefix replaces itself by what follows, as `ip netns exec` does.
  const [program = NODE, ...args] = [...(options.prefix ?? []), NODE, options.entry ?? ENTRY, ...(options.args ?? [])]
  const webRtcPort = Number(options.env?.SVC_WEBRTC_PORT ?? (await freePort()))
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      SVC_PORT: '0',
      SVC_DATA_DIR: dataDir,
      SVC_OUTPUT_PORTS: await freeRange(),
      SVC_WEBRTC_PORT: String(webRtcPort),
      ...options.env,
    },
  })
  const log: string[] = []
  const listeners = new Set<() => void>()
  let rest = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    log.push(...lines)
    for (const listener of listeners) listener()
  })
  const exited = new Promise<number | null>((resolveExit) => child.once('exit', resolveExit))
  void exited.then(() => {
    for (const listener of listeners) listener()
  })
  const waitForLog = (event: string, count = 1): Promise<Record<string, unknown>> =>
    new Promise((resolveLine, reject) => {
      const look = (): void => {
        const found = log.filter((line) => line.includes(`"event":"${event}"`))[count - 1]
        if (found !== undefined) resolveLine(JSON.parse(found) as Record<string, unknown>)
        else if (child.exitCode !== null) reject(new Error(`the service ended before "${event}":\n${log.join('\n')}`))
        else return
        listeners.delete(look)
      }
      listeners.add(look)
      look()
    })
  const { url } = (await waitForLog('service_ready')) as { url: string }
  return {
    url,
    dataDir,
    webRtcPort,
    pid: child.pid ?? 0,
    log,
    waitForLog,
    enginePid: () => (JSON.parse(readFileSync(join(dataDir, 'engine.json'), 'utf8')) as { pid: number }).pid,
    request: (method, path, body, headers) => request(`${url}${path}`, method, body, headers),
    stop: async () => {
      child.kill('SIGTERM')
      return exited
    },
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

export const request = async (url: string, method: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
  const response = await fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const json = response.headers.get('content-type')?.includes('json') ?? false
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text }
}

// Test files run in parallel; each service gets a port range of its own below the ephemeral ports.
const SLOTS = 400
let ranges = 0
const freeRange = async (): Promise<string> => {
  for (let attempt = 0; attempt < SLOTS; attempt += 1) {
    const slot = (process.pid * 7 + ranges++) % SLOTS
    const first = 12_000 + slot * 50
    // Another program may have them all, such as a service with hundreds of pipelines; outputs take the lowest first.
    if (await portIsFree(first)) return `${first}-${first + 49}`
  }
  throw new Error('every range of ports is used')
}
