import { ApiError, type Client, type Pipeline } from '../../client/client.ts'
import { Progress } from '../terminal/progress.ts'
import { readerAddress, wordOf } from '../terminal/status.ts'
import { EXIT, errorFields, exitCodeOf, explain } from './exit.ts'
import type { Run, Session } from './session.ts'

/** Does something with each of the pipelines. */
interface Action {
  /** While it is under way, such as `starting`. */
  readonly doing: string
  /** Answers the pipeline afterwards; undefined when it is gone. */
  readonly act: (client: Client, id: string, signal: AbortSignal) => Promise<Pipeline | undefined>
}

export const play: Run = (session) =>
  forEach(session, { doing: 'starting', act: (client, id, signal) => client.playPipeline({ id, signal }) })

export const stop: Run = (session) =>
  forEach(session, { doing: 'stopping', act: (client, id, signal) => client.stopPipeline({ id, signal }) })

export const remove: Run = (session) =>
  forEach(session, {
    doing: 'deleting',
    act: async (client, id, signal) => {
      if (session.given.has('force')) await client.stopPipeline({ id, signal })
      await client.deletePipeline({ id, signal }).catch((error: unknown) => {
        throw adviseForce(id, error)
      })
      return undefined
    },
  })

const adviseForce = (id: string, error: unknown): unknown =>
  error instanceof ApiError && error.details.reason === 'running'
    ? new Error(`The pipeline "${id}" is running. Stop it first, or use --force.`, { cause: error })
    : error

/** Starts at one time: each is a process. */
const AT_ONCE = 4

const forEach = async (session: Session, action: Action): Promise<number> => {
  const progress = new Progress(session.out, process.stdout)
  try {
    const codes = await inTurns(session.given.ids, AT_ONCE, (id) => actOn(session, action, id, progress))
    return codes.find((code) => code !== EXIT.done) ?? EXIT.done
  } finally {
    progress.close()
  }
}

const actOn = async (
  { client, signal, out, url, isJson }: Session,
  { doing, act }: Action,
  id: string,
  progress: Progress,
): Promise<number> => {
  const began = performance.now()
  try {
    const pipeline = await progress.during(id, doing, () => act(client, id, signal))
    progress.print(isJson ? JSON.stringify(pipeline ?? { id, deleted: true }) : doneLine(id, pipeline, out, url, performance.now() - began))
    return EXIT.done
  } catch (error) {
    if (isJson) process.stderr.write(`${JSON.stringify({ id, ...errorFields(error, url) })}\n`)
    else if (out.isInteractive) progress.print(`${out.paint.red('✗')} ${out.paint.bold(id)}  ${explain(error, url)}`)
    else process.stderr.write(`${id}  ${explain(error, url)}\n`)
    return exitCodeOf(error)
  }
}

const doneLine = (id: string, pipeline: Pipeline | undefined, { paint, isInteractive }: Session['out'], url: URL, ms: number): string => {
  const address = pipeline?.state === 'playing' ? readerAddress(pipeline, url) : ''
  const words = [paint.bold(id), pipeline === undefined ? 'deleted' : wordOf(pipeline), address].filter((word) => word !== '')
  return isInteractive ? `${paint.green('✓')} ${words.join('  ')} ${paint.dim(` ${(ms / 1000).toFixed(1)} s`)}` : words.join('  ')
}

/** Works on each item, on at most so many at one time; answers in their order. */
export const inTurns = async <T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<readonly R[]> => {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++
      results[at] = await work(items[at] as T)
    }
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker))
  return results
}
