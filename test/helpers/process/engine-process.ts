import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ENGINE_OPTIONS } from '../../../lib/engine/program-options.ts'
import { freePort } from '../ports.ts'
import { givePluginList } from '../run/plugin-list.ts'
import { temporaryDataDir } from './temporary-data-dir.ts'

const ENTRY = resolve(import.meta.dirname, '../../../dist/engine.js')

export const ENGINE_TOKEN = 'a-secret-of-the-test-engine'

/** An engine that is not a child of an API process. */
export interface EngineProcess {
  readonly pid: number
  readonly url: string
  readonly dataDir: string
  /** kill -9. */
  kill(): Promise<void>
}

export interface EngineOptions {
  readonly dataDir?: string
  readonly listen?: string
  readonly env?: Record<string, string>
  readonly prefix?: readonly string[]
}

/** Starts the built engine and waits until it listens; it ends with the test. */
export const startEngine = async (options: EngineOptions = {}): Promise<EngineProcess> => {
  const dataDir = options.dataDir ?? temporaryDataDir()
  if (options.dataDir === undefined) givePluginList(dataDir)
  const [program = '', ...args] = [...(options.prefix ?? []), process.execPath, ...ENGINE_OPTIONS, ENTRY]
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      SVC_DATA_DIR: dataDir,
      SVC_ENGINE_LISTEN: options.listen ?? '127.0.0.1:0',
      SVC_ENGINE_TOKEN: ENGINE_TOKEN,
      SVC_WEBRTC_PORT: String(await freePort()),
      ...options.env,
    },
  })
  const exited = once(child, 'exit')
  await Promise.race([
    once(child.stdout, 'data'),
    exited.then(([code]) => {
      throw new Error(`the engine ended with ${code} before it listened`)
    }),
  ])
  const { url } = JSON.parse(readFileSync(join(dataDir, 'engine.json'), 'utf8')) as { url: string }
  return {
    pid: child.pid ?? 0,
    url,
    dataDir,
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
