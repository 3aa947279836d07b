import { readFileSync } from 'node:fs'
import { Backoff } from '../../../lib/backoff.ts'
import { ConfigurationError } from '../../../lib/configuration/configuration.ts'
import { isAddress } from '../../../lib/configuration/parsers.ts'
import { whyUnreadable } from '../../../lib/console/file-error.ts'
import { messageOf } from '../../../lib/errors.ts'
import { pause } from '../../../lib/pause.ts'
import type { Log } from '../../../lib/ports.ts'
import type { FetchHandler } from '../../app.ts'
import { ApiError, type Client, createClient } from '../../client/client.ts'
import { applyPlan } from '../../declared/apply.ts'
import { type Declaration, readDeclaration } from '../../declared/declaration.ts'
import { makePlan } from '../../declared/plan.ts'
import { followDocument } from './follow-document.ts'
import { createRemoteDocument } from './remote-document.ts'

/** What SVC_PIPELINES names. */
interface DeclaredPipelines {
  readonly apply: (deps: ApplyDeps) => Promise<void>
  /** There is another license: what one was missing for is tried again. */
  readonly licenseChanged: () => void
}

/**
 * A file is read at once: throws ConfigurationError with file, line and field of every mistake. An http:// or https:// address is asked
 * when it is applied, and each minute after that.
 */
export const readDeclaredPipelines = (place: string): DeclaredPipelines => {
  const license = createChanges()
  const document = isAddress(place) ? createRemoteDocument(place) : undefined
  const declaration = document === undefined ? readFile(place) : undefined
  const applyOne = (declared: Declaration, deps: ApplyDeps): Promise<void> => applyDeclaredPipelines(declared, { ...deps, license })
  return {
    apply: async (deps) => {
      if (declaration !== undefined) return applyOne(declaration, deps)
      if (document === undefined) return
      const apply = (declared: Declaration, superseded: AbortSignal) => applyOne(declared, { ...deps, stopping: superseded })
      return followDocument(document, { ...deps, apply })
    },
    licenseChanged: license.noteChange,
  }
}

interface Changes {
  noteChange(): void
  /** Settles with the next change. */
  readonly next: Promise<void>
}

const createChanges = (): Changes => {
  let next = Promise.withResolvers<void>()
  return {
    noteChange: () => {
      next.resolve()
      next = Promise.withResolvers()
    },
    get next() {
      return next.promise
    },
  }
}

/** Settles with the promise, or when the signal aborts; leaves no listener behind. */
const unlessAborted = async (promise: Promise<void>, signal: AbortSignal): Promise<void> => {
  const aborted = Promise.withResolvers<void>()
  const end = (): void => aborted.resolve()
  signal.addEventListener('abort', end)
  if (!signal.aborted) await Promise.race([promise, aborted.promise])
  signal.removeEventListener('abort', end)
}

const readFile = (file: string): Declaration => {
  try {
    return readDeclaration(read(file), file)
  } catch (error) {
    throw new ConfigurationError(`SVC_PIPELINES: ${messageOf(error)}`, { cause: error })
  }
}

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${file} cannot be read: ${whyUnreadable(error)}`, { cause: error })
  }
}

interface ApplyDeps {
  readonly app: FetchHandler
  readonly apiKey: string
  readonly log: Log
  readonly stopping: AbortSignal
}

const RETRY = { initial_delay_ms: 1000, max_delay_seconds: 30 }

/** What is left to try again. */
type Outcome = 'done' | 'unavailable' | 'unlicensed'

type ApplyOneDeps = ApplyDeps & { readonly license: Changes }

/**
 * Makes pipelines and settings what the file declares; settles after the first attempt. While the engine is unavailable it is
 * tried again, until the service stops; what needs another license, when there is one. What fails is logged, and prevents neither the
 * other pipelines nor the service.
 */
const applyDeclaredPipelines = async (declaration: Declaration, options: ApplyOneDeps): Promise<void> => {
  const { app, apiKey, log, license, stopping } = options
  const client = createClient({ url: 'http://127.0.0.1', apiKey, fetch: (url, init) => app(new Request(url, init)) })
  const backoff = new Backoff()
  // From before the attempt: a license may come while it is made.
  let changed = license.next
  let outcome = await attempt(client, declaration, options)
  const goOn = async (): Promise<void> => {
    while (outcome !== 'done') {
      await (outcome === 'unlicensed' ? unlessAborted(changed, stopping) : pause(backoff.next(RETRY), stopping))
      if (stopping.aborted) return
      changed = license.next
      outcome = await attempt(client, declaration, options)
    }
  }
  goOn().catch((error: unknown) => log.error('declared_pipelines_failed', { error: messageOf(error) }))
}

const attempt = async (client: Client, declaration: Declaration, { log, stopping }: ApplyDeps): Promise<Outcome> => {
  try {
    const plan = await makePlan(client, declaration, { prune: false, atStart: true, signal: stopping })
    if (plan.mistakes.length > 0) log.error('declared_pipelines_failed', { mistakes: plan.mistakes })
    const { settingsChanged, done, failed } = await applyPlan(client, plan, declaration, {
      signal: stopping,
      onStep: ({ id }, fault) => {
        if (fault !== undefined) log.error('declared_pipeline_failed', { id, error: fault.message })
      },
    })
    log.info('declared_pipelines_applied', {
      applied: done.length,
      unchanged: plan.unchanged,
      failed: failed.length + plan.mistakes.length,
      settings_changed: settingsChanged,
    })
    return outcomeOf(failed.map(({ failure }) => failure.error))
  } catch (error) {
    if (stopping.aborted) return 'done'
    log.error('declared_pipelines_failed', { error: messageOf(error) })
    return outcomeOf([error])
  }
}

const PASSING: ReadonlySet<string> = new Set(['engine_unavailable', 'database_busy'])

const outcomeOf = (errors: readonly unknown[]): Outcome => {
  const faults = errors.filter((error) => error instanceof ApiError)
  if (faults.some(({ details }) => PASSING.has(String(details.reason)))) return 'unavailable'
  // Payment Required is the status of everything that a license refuses.
  return faults.some(({ status }) => status === 402) ? 'unlicensed' : 'done'
}
