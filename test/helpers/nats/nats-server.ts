import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'

/** A real nats-server with JetStream. */
export interface NatsServer {
  /** nats://127.0.0.1:… */
  readonly url: string
  readonly port: number
  readonly pid: () => number
  /** kill -9. */
  kill(): Promise<void>
  /** Starts it again on the same port, with its store or an empty one. */
  start(options?: { readonly empty?: boolean }): Promise<void>
  /** Kills it and removes its store. */
  remove(): Promise<void>
}

/** Starts nats-server on a free port; `configuration` is added to its file. On 0.0.0.0, network namespaces reach it too. */
export const startNatsServer = async (configuration = '', given?: number, address = '127.0.0.1'): Promise<NatsServer> => {
  const port = given ?? (await freePort())
  const folder = mkdtempSync(join(tmpdir(), 'nats-'))
  const file = join(folder, 'server.conf')
  const store = join(folder, 'store')
  writeFileSync(file, `listen: "${address}:${port}"\njetstream { store_dir: "${store}" }\n${configuration}\n`)
  let child: ChildProcess | undefined
  const server: NatsServer = {
    url: `nats://127.0.0.1:${port}`,
    port,
    pid: () => child?.pid ?? 0,
    kill: async () => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
    start: async ({ empty = false } = {}) => {
      if (empty) rmSync(store, { recursive: true, force: true })
      child = spawn('/usr/sbin/nats-server', ['-c', file], { stdio: 'ignore' })
      await until(
        () => canConnect(port),
        (can) => can,
      )
    },
    remove: async () => {
      await server.kill()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  await server.start()
  return server
}

const canConnect = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    }).on('error', () => resolve(false))
  })
