import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../ports.ts'
import { givePluginList } from '../run/plugin-list.ts'
import { processes, processesWith } from './processes.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

/** How the service is started: by npm in a terminal, by npm, or by itself. */
export type Launch = 'terminal' | 'npm' | 'node'

/** The service in a process group of its own, with a mark in the environment of everything that it starts. */
export interface MarkedRun {
  readonly url: string
  readonly mark: string
  readonly dataDir: string
  /** Standard output and error so far. */
  output(): string
  /** Resolves when the output has this text; rejects when the run ends before. */
  shows(text: string): Promise<void>
  /** The process that serves, as soon as there is one. */
  apiPid(): number | undefined
  /** Sends a signal to every process of the group. */
  signalGroup(signal: NodeJS.Signals): void
  /** Types into the terminal. */
  type(text: string): void
  /** The exit code of what was launched; null when a signal ended it. */
  readonly exited: Promise<number | null>
  /** What is there of the run: processes, ports, files other than its data. */
  left(): Promise<readonly string[]>
  /** Kills what is left, and removes the directory. */
  clear(): void
}

const COMMANDS: Readonly<Record<Launch, readonly [string, ...string[]]>> = {
  terminal: ['script', '-qefc', 'exec npm start', '/dev/null'],
  npm: ['npm', 'start'],
  node: [process.execPath, 'dist/node.js'],
}

/** What a data directory keeps. */
const KEPT = /^(?:api-key|gstreamer-registry\.bin|screenshots|service\.db(?:-shm|-wal)?)$/

export const startMarked = async (launch: Launch, env: Readonly<Record<string, string>> = {}): Promise<MarkedRun> => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-run-'))
  const [dataDir, tmp] = [join(folder, 'data'), mkdtempSync(join(folder, 'tmp-'))]
  mkdirSync(dataDir, { mode: 0o700 })
  givePluginList(dataDir)
  const mark = `RUN_MARK=${folder}`
  const port = await freePort()
  const [program, ...args] = COMMANDS[launch]
  const child = spawn(program, args, {
    cwd: ROOT,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, RUN_MARK: folder, TMPDIR: tmp, SVC_DATA_DIR: dataDir, SVC_PORT: String(port), ...env },
  })
  const output = collect(child)
  const exited = new Promise<number | null>((done) => child.once('exit', (code) => done(code)))
  return {
    url: `http://127.0.0.1:${port}`,
    mark,
    dataDir,
    output: output.text,
    shows: (text) =>
      Promise.race([
        output.shows(text),
        exited.then((code) => {
          throw new Error(`ended with ${code} before it showed ${text}:\n${output.text()}`)
        }),
      ]),
    apiPid: () => {
      const marked = new Set(processesWith(mark))
      return processes().find(({ pid, command }) => marked.has(pid) && /dist\/node\.js$/.test(command))?.pid
    },
    signalGroup: (signal) => {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    },
    type: (text) => void child.stdin?.write(text),
    exited,
    left: async () => [
      ...processesWith(mark).map((pid) => `process ${pid}: ${processes().find((process) => process.pid === pid)?.command}`),
      ...((await isListening(port)) ? [`port ${port}`] : []),
      ...filesOf(dataDir).filter((name) => !KEPT.test(name)),
      // npm's own, and the compile cache of Node.
      ...filesOf(tmp).filter((name) => !/^(?:npm-|node-compile-cache)/.test(name)),
    ],
    clear: () => {
      for (const pid of processesWith(mark)) process.kill(pid, 'SIGKILL')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const collect = (child: ChildProcess) => {
  let text = ''
  const watchers = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (more: string) => {
      text += more
      for (const watcher of [...watchers]) watcher()
    })
  }
  return {
    text: () => text,
    shows: (wanted: string) =>
      new Promise<void>((done) => {
        const watcher = (): void => {
          if (!text.includes(wanted)) return
          watchers.delete(watcher)
          done()
        }
        watchers.add(watcher)
        watcher()
      }),
  }
}

const filesOf = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => {
      socket.destroy()
      done(true)
    })
    socket.once('error', () => done(false))
  })
