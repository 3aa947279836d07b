import { type ChildProcess, spawn } from 'node:child_process'
import { createEngineCaller } from '../../../lib/engine/caller.ts'
import { readGreeting } from '../../../lib/engine/handshake.ts'
import { ENGINE_OPTIONS } from '../../../lib/engine/program-options.ts'
import { ENGINE_PROTOCOL } from '../../../lib/engine/protocol.ts'
import { createEngineConnections } from './connections.ts'
import { EngineLink, type LinkOptions } from './engine-link.ts'
import {
  type Announced,
  type EndStep,
  endProcess,
  identify,
  isAlive,
  killProcess,
  type ProcessIdentity,
  parseAnnounced,
  readAnnounced,
  removeAddress,
  untilGone,
} from './engine-process.ts'

/** On a slow host the first start lists all plugins of GStreamer, for which the engine allows 30 s; calls wait for less. */
const START_PATIENCE_MS = 45_000
const REPLACED_WITHIN_MS = 5000

/** The engine ends its children within this time, or itself, and its children end with it. */
const IN_ORDER = { signal: 'SIGTERM', graceMs: 5500 } as const satisfies EndStep
const AT_ONCE = { signal: 'SIGKILL', graceMs: 1000 } as const satisfies EndStep

interface SidecarOptions extends LinkOptions {
  /** The bundled engine. */
  readonly entry: string
  readonly dataDir: string
  readonly environment: NodeJS.ProcessEnv
}

/** Links the engine that an earlier API process left, or starts one, and starts another when it is gone. */
export const keepSidecar = (options: SidecarOptions): EngineLink => {
  const { dataDir } = options
  const connections = createEngineConnections()
  /** The engine that was found or started last. */
  let current: ProcessIdentity | undefined

  const end = async (identity: ProcessIdentity, steps: readonly EndStep[]): Promise<void> => {
    await endProcess(identity, steps)
    forget(options, identity)
  }

  /** Two engines would use the same ports, so one that was lost ends first, in order if it does so by itself. */
  const endLost = async (): Promise<void> => {
    const announced = readAnnounced(dataDir)
    if (current === undefined || announced?.pid === current.pid) return
    if (!(await untilGone(current, IN_ORDER.graceMs))) await end(current, [AT_ONCE])
  }

  return new EngineLink(
    {
      obtain: async (signal) => {
        await endLost()
        const running = await findRunning(options, end)
        signal.throwIfAborted()
        if (running !== undefined) {
          current = running
          return { address: running, found: true }
        }
        const child = launch(options)
        current = identify(child.pid ?? 0)
        return { address: await untilAnnounced(child, options, signal), found: false }
      },
      end: async () => {
        current ??= announcedProcess(dataDir)
        if (current !== undefined) await end(current, [IN_ORDER, AT_ONCE])
      },
      kill: () => {
        if (current === undefined) return
        killProcess(current)
        forget(options, current)
      },
      replacedWithinMs: REPLACED_WITHIN_MS,
      fetch: connections.fetch,
      onLost: connections.drop,
    },
    options,
  )
}

/** An address that stays does no harm: its process is gone. */
const forget = ({ dataDir, log }: SidecarOptions, identity: ProcessIdentity): void => {
  const fault = removeAddress(dataDir, identity)
  if (fault !== undefined) log.warn('engine_still_announced', { pid: identity.pid, error: fault })
}

/** The process that announced itself; undefined when it is gone or another has its pid, or when its start is not known. */
const announcedProcess = (dataDir: string): ProcessIdentity | undefined => {
  const announced = readAnnounced(dataDir)
  if (announced?.started === undefined) return undefined
  const identity = { pid: announced.pid, started: announced.started }
  return isAlive(identity) ? identity : undefined
}

type Running = Announced & ProcessIdentity

/**
 * The engine that an earlier API process left, of any version with our protocol; ends any other. It is the engine when it runs since
 * the time it announced, or answers to its token.
 */
const findRunning = async (
  { dataDir, log }: SidecarOptions,
  end: (identity: ProcessIdentity, steps: readonly EndStep[]) => Promise<void>,
): Promise<Running | undefined> => {
  const announced = readAnnounced(dataDir)
  const identity = announced === undefined ? undefined : identify(announced.pid)
  if (announced === undefined || identity === undefined) return undefined
  if (announced.started !== undefined && announced.started !== identity.started) return undefined
  const { pid, started } = identity
  try {
    const { pid: answering, version, protocol = null } = await readGreeting(createEngineCaller({ address: () => announced }))
    if (answering !== pid) return undefined
    if (protocol === ENGINE_PROTOCOL) return { ...announced, started }
    log.warn('engine_replaced', { reason: 'another engine protocol', version, protocol, wanted_protocol: ENGINE_PROTOCOL })
    await end(identity, [IN_ORDER, AT_ONCE])
  } catch (error) {
    if (announced.started === undefined) {
      log.warn('engine_not_recognized', { pid, error })
      return undefined
    }
    log.warn('engine_does_not_answer', { pid, error })
    await end(identity, [AT_ONCE])
  }
  return undefined
}

/** Starts an engine that outlives this process: in a session of its own, with only the log shared. */
const launch = ({ entry, environment }: SidecarOptions): ChildProcess =>
  spawn(process.execPath, [...ENGINE_OPTIONS, entry], { detached: true, stdio: ['ignore', 'pipe', 'inherit'], env: environment })

/** Waits until the engine has announced where it is; kills it when it does not. */
const untilAnnounced = async (child: ChildProcess, { dataDir, log }: SidecarOptions, signal: AbortSignal): Promise<Announced> => {
  const outcome = Promise.withResolvers<string>()
  const giveUp = (): void => outcome.reject(new Error('the engine is not needed any more'))
  const timer = setTimeout(() => outcome.reject(new Error('the engine did not become ready in time')), START_PATIENCE_MS)
  signal.addEventListener('abort', giveUp)
  child.once('error', outcome.reject)
  child.once('exit', (code, by) => outcome.reject(new Error(`the engine ended (${by ?? `exit code ${code}`})`)))
  child.stdout?.setEncoding('utf8').once('data', (text) => outcome.resolve(String(text)))
  let said: string
  try {
    said = await outcome.promise
  } catch (error) {
    // An engine that is no longer needed is ended in order.
    if (!signal.aborted) child.kill('SIGKILL')
    throw error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', giveUp)
    child.stdout?.destroy()
    child.unref()
  }
  // It prints its address when it cannot write the file.
  const announced = parseAnnounced(said) ?? readAnnounced(dataDir)
  if (announced === undefined || announced.pid !== child.pid) throw new Error('the engine did not announce its address')
  log.debug('engine_spawned', { pid: announced.pid })
  return announced
}
