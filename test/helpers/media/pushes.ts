import { expect } from 'vitest'
import type { Service } from '../process/service.ts'

/** A push as the API shows it. */
interface Shown {
  readonly uri: string
  readonly state: string
  readonly since: string
  readonly last_error: { readonly code: string; readonly message: string; readonly at: string } | null
  readonly bytes: number
}

/** Creates a simple pipeline; answers the address of its output. */
export const create = async (service: Service, id: string, more: Record<string, unknown>): Promise<string> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, mode: 'simple', ...more })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
  return body.output.uri.replace('0.0.0.0', '127.0.0.1')
}

export const pushesOf = async (service: Service, id: string): Promise<readonly Shown[]> =>
  (await service.request('GET', `/svc/pipeline/${id}`)).body.runtime.push

export const states = async (service: Service, id: string): Promise<readonly string[]> =>
  (await pushesOf(service, id)).map(({ state }) => state)
