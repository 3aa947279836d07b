import type { Service } from '../process/service.ts'
import { until } from '../until.ts'

/** A push as the API shows it. */
interface Shown {
  readonly uri: string
  readonly state: string
  readonly since: string
  readonly last_error: { readonly code: string; readonly message: string; readonly at: string } | null
  readonly bytes: number
}

export const pushesOf = async (service: Service, id: string): Promise<readonly Shown[]> =>
  (await service.request('GET', `/svc/pipeline/${id}`)).body.runtime.push

export const states = async (service: Service, id: string): Promise<readonly string[]> =>
  (await pushesOf(service, id)).map(({ state }) => state)

/** Waits until all pushes of a pipeline send; answers their states. */
export const untilAllSend = (service: Service, id: string) =>
  until(
    () => states(service, id).catch(() => []),
    (all) => all.length > 0 && all.every((state) => state === 'sending'),
  )

/** Waits until one push of a pipeline sends, by its place in the list. */
export const untilSends = (service: Service, id: string, at: number) =>
  until(
    async () => (await states(service, id))[at],
    (state) => state === 'sending',
  )
