import { readFileSync } from 'node:fs'
import { Backoff } from '../../lib/backoff.ts'
import { ConfigurationError } from '../../lib/configuration/configuration.ts'
import { whyUnreadable } from '../../lib/console/file-error.ts'
import { messageOf } from '../../lib/errors.ts'
import { pause } from '../../lib/pause.ts'
import type { Log } from '../../lib/ports.ts'
import type { FetchHandler } from '../app.ts'
import { ApiError, type Client, createClient } from '../client/client.ts'
import { applyPlan } from '../declared/apply.ts'
import { type Declaration, readDeclaration } from '../declared/declaration.ts'
import { makePlan } from '../declared/plan.ts'

/** Reads the file of SVC_PIPELINES. Throws ConfigurationError with file, line and field of every mistake. */
export const readDeclaredPipelines = (file: string): Declaration => {
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

/**
 * Makes pipelines and settings what the file declares; settles after the first attempt. While the engine is unavailable it is
 * tried again, until the service stops. What fails is logged, and prevents neither the other pipelines nor the service.
 */
export const applyDeclaredPipelines = async (declaration: Declaration, options: ApplyDeps): Promise<void> => {
  const { app, apiKey, log, stopping } = options
  const client = createClient({ url: 'http://127.0.0.1', apiKey, fetch: (url, init) => app(new Request(url, init)) })
  if (await attempt(client, declaration, options)) return
  const backoff = new Backoff()
  const goOn = async (): Promise<void> => {
    do await pause(backoff.next(RETRY), stopping)
    while (!stopping.aborted && !(await attempt(client, declaration, options)))
  }
  goOn().catch((error: unknown) => log.error('declared_pipelines_failed', { error: messageOf(error) }))
}

/** Answers whether there is nothing left to try again. */
const attempt = async (client: Client, declaration: Declaration, { log, stopping }: ApplyDeps): Promise<boolean> => {
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
    return !failed.some(({ failure }) => isPassing(failure.error))
  } catch (error) {
    if (stopping.aborted) return true
    log.error('declared_pipelines_failed', { error: messageOf(error) })
    return !isPassing(error)
  }
}

const PASSING: ReadonlySet<string> = new Set(['engine_unavailable', 'database_busy'])

const isPassing = (error: unknown): boolean => error instanceof ApiError && PASSING.has(String(error.details.reason))
