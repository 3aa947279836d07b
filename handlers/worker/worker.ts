import { ApiError } from '../../lib/errors.ts'
import { createApp } from '../app.ts'
import { errorResponse } from '../http/respond.ts'
import { clientAddressOf } from './client-address.ts'
import type { WorkerEnvironment } from './environment.ts'
import { wire } from './wire.ts'

export type { ServiceBinding, WorkerEnvironment } from './environment.ts'

/** The part of the runtime's execution context that is used. */
export interface WorkerContext {
  waitUntil(work: Promise<unknown>): void
}

/** The API on a fetch runtime such as workerd; its engine and its database are elsewhere. */
export default {
  async fetch(request: Request, environment: WorkerEnvironment, context: WorkerContext): Promise<Response> {
    const requestId = crypto.randomUUID()
    try {
      const { deps, configuration } = await wire(environment)
      const clientAddress = clientAddressOf(request, configuration)
      const answer = await createApp(deps)(request, {
        requestId,
        ...(clientAddress !== undefined && { clientAddress }),
        waitUntil: (work) => context.waitUntil(work),
      })
      return withRequestId(answer, requestId)
    } catch (error) {
      if (!(error instanceof ApiError)) console.error(error)
      const failure =
        error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR', 'The service failed. Search its log for the request id.')
      return withRequestId(errorResponse(failure), requestId)
    }
  },

  /** For a scheduled trigger: reconciles engine and database without a request. */
  async scheduled(_event: unknown, environment: WorkerEnvironment): Promise<void> {
    const { reconcileAs } = await wire(environment)
    await reconcileAs('engine_found')
  },
}

const withRequestId = (answer: Response, requestId: string): Response => {
  const headers = new Headers(answer.headers)
  headers.set('x-request-id', requestId)
  return new Response(answer.body, { status: answer.status, headers })
}
