import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@libsql/client/sqlite3'
import { childrenOf } from '../process/processes.ts'
import type { Answer, Service } from '../process/service.ts'
import { createRandom } from '../random.ts'

export const TRIGGER_KEY = 'a-key-of-the-triggers-long-enough'

/** Calls a trigger as the media server's hook does. */
export const trigger = (service: Service, method: 'PUT' | 'DELETE', path: string, pipelineId?: string): Promise<Answer> => {
  const query = new URLSearchParams({ path, ...(pipelineId !== undefined && { pipelineId }) })
  return service.request(method, `/svc/triggers/mediaServer/publish?${query}`, undefined, { 'x-api-key': TRIGGER_KEY })
}

/** The pipelines as processes, ports, database and list show them. */
export interface Holdings {
  /** gst-launch processes of the engine. */
  readonly processes: number
  /** TCP ports of the range that something listens on. */
  readonly ports: readonly number[]
  readonly database: readonly string[]
  readonly list: readonly string[]
}

/** Ports of 0.0.0.0 and :: in LISTEN (state 0A), of all processes. */
const listeningPorts = (): readonly number[] =>
  ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^ *\d+: [0-9A-F]+:([0-9A-F]{4}) \S+ 0A /gm)].map(([, port = '']) => Number.parseInt(port, 16)),
  )

const stored = async (service: Service): Promise<string[]> => {
  const client = createClient({ url: `file:${join(service.dataDir, 'service.db')}` })
  try {
    return (await client.execute('SELECT id FROM pipelines ORDER BY id')).rows.map(({ id }) => String(id))
  } finally {
    client.close()
  }
}

export const holdings = async (service: Service, range: readonly [first: number, last: number]): Promise<Holdings> => ({
  processes: childrenOf(service.enginePid()).length,
  ports: [...new Set(listeningPorts())].filter((port) => port >= range[0] && port <= range[1]).sort(),
  database: await stored(service),
  list: ((await service.request('GET', '/svc/pipeline')).body as readonly { id: string }[]).map(({ id }) => id).sort(),
})

/** Whether processes, ports, database and list agree. */
export const agree = ({ processes, ports, database, list }: Holdings): boolean =>
  processes === list.length && ports.length === list.length && database.join() === list.join()

export interface Storm {
  readonly seed: number
  readonly calls: number
  readonly clients: number
  readonly paths: readonly string[]
  /** Longest pause of a client between two calls: without pauses nearly every start is cancelled. */
  readonly pauseMs: number
}

/** Random publishes and unpublishes (three to two) from several clients at once; counts the answers. */
export const storm = async (service: Service, { seed, calls, clients, paths, pauseMs }: Storm): Promise<Record<string, number>> => {
  const random = createRandom(seed)
  const answers: Record<string, number> = {}
  let left = calls
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const method = random.chance(0.6) ? 'PUT' : 'DELETE'
      const { status, body } = await trigger(service, method, random.pick(paths))
      const answer = [method, status, body.details?.reason].filter((part) => part !== undefined).join(' ')
      answers[answer] = (answers[answer] ?? 0) + 1
      await new Promise((resolve) => setTimeout(resolve, random.integer(pauseMs)))
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return answers
}
