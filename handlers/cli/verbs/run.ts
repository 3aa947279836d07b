import { printable, printableJson } from '../../../lib/log/printable.ts'
import { reasonOf } from '../../client/api-error.ts'
import type { Client, Pipeline } from '../../client/client.ts'
import { mapConcurrent } from '../../declared/map-concurrent.ts'
import { EXIT, errorFields, exitCodeOf, explain } from '../command-line/exit.ts'
import { meantPipeline } from '../command-line/meant-pipeline.ts'
import type { Run, Session } from '../command-line/session.ts'
import { Progress } from '../terminal/progress.ts'
import { outputAddress, wordOf } from '../terminal/status.ts'

/** An action on pipelines. */
interface Action {
  /** Shown meanwhile, such as `starting`. */
  readonly doing: string
  /** Answers the pipeline; undefined when it was deleted. */
  readonly act: (client: Client, id: string, signal: AbortSignal) => Promise<Pipeline | undefined>
}

export const play: Run = (session) =>
  forEach(session, session.given.operands, { doing: 'starting', act: (client, id, signal) => client.playPipeline({ id, signal }) })

export const stop: Run = (session) =>
  forEach(session, session.given.operands, { doing: 'stopping', act: (client, id, signal) => client.stopPipeline({ id, signal }) })

export const remove: Run = (session) =>
  forEach(session, session.given.operands, {
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
  reasonOf(error) === 'running' ? new Error(`The pipeline "${id}" is running. Stop it first, or use --force.`, { cause: error }) : error

/** Acts on each id, and prints the result. */
export const forEach = async (session: Session, ids: readonly string[], action: Action): Promise<number> => {
  const progress = new Progress(session.out, process.stdout)
  try {
    const codes = await mapConcurrent(ids, (id) => actOn(session, action, id, progress))
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
    progress.print(isJson ? printableJson(pipeline ?? { id, deleted: true }) : doneLine(id, pipeline, out, url, performance.now() - began))
    return EXIT.done
  } catch (error) {
    if (isJson) process.stderr.write(`${printableJson({ id, ...errorFields(error, url) })}\n`)
    else {
      const text = `${explain(error, url)}${await meantPipeline(error, client)}`
      if (out.isInteractive) progress.print(`${out.paint.red('✗')} ${out.paint.bold(printable(id))}  ${text}`)
      else process.stderr.write(`${printable(id)}  ${text}\n`)
    }
    return exitCodeOf(error)
  }
}

const doneLine = (id: string, pipeline: Pipeline | undefined, { paint, isInteractive }: Session['out'], url: URL, ms: number): string => {
  const address = pipeline?.state === 'playing' ? outputAddress(pipeline, url) : ''
  const words = [paint.bold(printable(id)), pipeline === undefined ? 'deleted' : wordOf(pipeline), address].filter((word) => word !== '')
  return isInteractive ? `${paint.green('✓')} ${words.join('  ')} ${paint.dim(` ${(ms / 1000).toFixed(1)} s`)}` : words.join('  ')
}
