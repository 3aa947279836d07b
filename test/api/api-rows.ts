import { describe, expect, it } from 'vitest'
import { createTestApi, type TestApi } from '../helpers/api/api.ts'
import { fetchHost, nodeHost, type TestHost, workerHost } from '../helpers/api/hosts.ts'

/** One request and what must be true of its answer. */
export interface ApiRow {
  readonly name: string
  /** Turns or reads something of this very process (clock, license, log, a method of a fake), which a host elsewhere does not have. */
  readonly inProcess?: true
  readonly given?: (api: TestApi) => Promise<unknown>
  readonly request: readonly [method: string, path: string, body?: unknown, headers?: Record<string, string>]
  readonly status: number
  /** Parts of the answer's text. */
  readonly contains?: readonly string[]
  /** What the answer's text must not hold. */
  readonly lacks?: readonly string[]
  readonly headers?: Readonly<Record<string, string | null>>
  /** What must be true afterwards. */
  readonly after?: (api: TestApi, response: Response, text: string) => Promise<unknown> | unknown
}

/** No answer of any kind may hold these: stacks, SQL, paths of the host. */
const NEVER = ['at file:', 'node_modules', '.ts:', 'SQLITE', 'insert into', 'select "', '/tmp/']

const HOSTS: readonly TestHost[] = [fetchHost, nodeHost, workerHost]

/** Declares a test for each row on each host, every one on an API and a database of its own. */
export const testRows = (rows: readonly ApiRow[], hosts = HOSTS): void => {
  for (const host of hosts) {
    const fitting = rows.filter(({ inProcess }) => inProcess !== true || host.openDatabase === undefined)
    if (fitting.length === 0) continue
    describe(`on ${host.name}`, () => {
      for (const row of fitting) it(row.name, () => runRow(row, host))
    })
  }
}

const runRow = async (row: ApiRow, host: TestHost): Promise<void> => {
  await using api = await createTestApi(host)
  await row.given?.(api)
  const [method, path, body, headers] = row.request
  const response = await api.send(method, path, body, headers)
  const text = await response.clone().text()
  expect({ status: response.status, text }).toEqual({ status: row.status, text: expect.any(String) })
  for (const part of row.contains ?? []) expect(text).toContain(part)
  for (const part of [...(row.lacks ?? []), ...NEVER]) expect(text).not.toContain(part)
  for (const [name, value] of Object.entries(row.headers ?? {})) expect([name, response.headers.get(name)]).toEqual([name, value])
  if (response.status >= 400 && method !== 'HEAD') expectErrorShape(text)
  await row.after?.(api, response, text)
}

const expectErrorShape = (text: string): void => {
  // Health has a shape of its own, and so has the refusal of a trigger.
  if (text === '{"error":"Unauthorized"}' || text.startsWith('{"status":')) return
  expect(JSON.parse(text)).toEqual({ message: expect.any(String), code: expect.stringMatching(/^[A-Z_]+$/), details: expect.any(Object) })
}
