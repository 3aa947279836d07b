import { didYouMean } from '../../../lib/console/nearest.ts'
import { printable } from '../../../lib/log/printable.ts'
import { ApiError, type Client } from '../../client/client.ts'

/** Upper bound of the look, milliseconds: the error must not wait for it. */
const LOOK_MS = 1500

/** After an error for an id that no pipeline has: ` Did you mean gate?` if another is close to it, else nothing. */
export const meantPipeline = async (error: unknown, client: Pick<Client, 'listPipelines'> | undefined): Promise<string> => {
  const [, id] = (error instanceof ApiError && error.status === 404 && /^No pipeline has the id ([\w-]+)/.exec(error.message)) || []
  if (id === undefined || client === undefined) return ''
  // The error itself is shown in any case.
  const pipelines = await client.listPipelines({ signal: AbortSignal.timeout(LOOK_MS) }).catch(() => [])
  return printable(
    didYouMean(
      id,
      pipelines.map((pipeline) => pipeline.id),
    ),
  )
}
