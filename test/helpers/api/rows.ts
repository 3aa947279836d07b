import { describe, expect, it } from 'vitest'
import { createTestApi, type TestApi } from './api.ts'
import { fetchHost, nodeHost, type TestHost, workerHost } from './hosts.ts'

/** Method and path, and where there are any the body and header fields. */
type RowRequest = string | readonly [line: string, body?: unknown, headers?: Readonly<Record<string, string>>]

interface RowOptions {
  readonly given?: (api: TestApi) => unknown
  /** What the text of the answer must not contain. */
  readonly lacks?: readonly string[]
  readonly headers?: Readonly<Record<string, string | null>>
  /** What must be true afterwards. */
  readonly after?: (api: TestApi, response: Response, text: string) => unknown
}

interface ApiRow extends RowOptions {
  readonly name: string
  readonly request: RowRequest
  readonly status: number
  readonly contains: readonly string[]
}

/** One request and what must be true of its answer; `contains`: parts of the text of the answer. */
export const row = (
  name: string,
  request: RowRequest,
  status: number,
  contains: string | readonly string[] | RowOptions = [],
  options: RowOptions = {},
): ApiRow => {
  if (typeof contains === 'string') return { name, request, status, contains: [contains], ...options }
  return isList(contains) ? { name, request, status, contains, ...options } : { name, request, status, contains: [], ...contains }
}

const isList = (value: readonly string[] | RowOptions): value is readonly string[] => Array.isArray(value)

/** No answer of any kind may contain these: stacks, SQL, paths of the host. */
const NEVER = ['at file:', 'node_modules', '.ts:', 'SQLITE', 'insert into', 'select "', '/tmp/']

export const ALL_HOSTS: readonly TestHost[] = [fetchHost, nodeHost, workerHost]

/** Declares a test for each row on the bare fetch handler, every one on an API and a database of its own. */
export const testRows = (rows: readonly ApiRow[]): void => {
  for (const each of rows) it(each.name, () => runRow(each, fetchHost))
}

/** The same on all hosts: for what depends on the HTTP server, the database or the way to the engine. */
export const testRowsOnAllHosts = (rows: readonly ApiRow[]): void => {
  for (const host of ALL_HOSTS) {
    describe(`on ${host.name}`, () => {
      for (const each of rows) it(each.name, () => runRow(each, host))
    })
  }
}

const runRow = async ({ request, status, given, contains, lacks = [], headers = {}, after }: ApiRow, host: TestHost): Promise<void> => {
  await using api = await createTestApi(host)
  await given?.(api)
  const [line, body, sent] = typeof request === 'string' ? [request] : request
  const [method = '', path = ''] = line.split(/ (.*)/s)
  const response = await api.send(method, path, body, sent)
  const text = await response.clone().text()
  expect({ status: response.status, text }).toEqual({ status, text: expect.any(String) })
  for (const part of contains) expect(text).toContain(part)
  for (const part of [...lacks, ...NEVER]) expect(text).not.toContain(part)
  for (const [name, value] of Object.entries(headers)) expect([name, response.headers.get(name)]).toEqual([name, value])
  if (response.status >= 400 && method !== 'HEAD') expectErrorShape(text)
  await after?.(api, response, text)
}

const expectErrorShape = (text: string): void => {
  // Health has a shape of its own, and so has the refusal of a trigger.
  if (text === '{"error":"Unauthorized"}' || text.startsWith('{"status":')) return
  expect(JSON.parse(text)).toEqual({ message: expect.any(String), code: expect.stringMatching(/^[A-Z_]+$/), details: expect.any(Object) })
}

type Given = (api: TestApi) => unknown

/** After `given` the engine cannot be reached. */
export const engineGone =
  (given: Given = () => undefined): Given =>
  async (api) => {
    await given(api)
    api.engine.reachable = false
  }

/** After `given` another engine took the place of the one before; it knows no pipeline. */
export const engineReplaced =
  (given: Given = () => undefined): Given =>
  async (api) => {
    await given(api)
    api.engine.restart()
  }

export const PASSWORD = 'correct horse battery staple'

/** After `given` a password is set. */
export const passwordSet =
  (given: Given = () => undefined): Given =>
  async (api) => {
    await given(api)
    expect((await api.send('PUT', '/svc/auth/password', { password: PASSWORD })).status).toBe(200)
  }

/** Logs in; answers the header field of the session. */
export const login = async (api: TestApi, password = PASSWORD): Promise<{ authorization: string }> => {
  const response = await api.send('POST', '/svc/auth/login', { password })
  return { authorization: `Bearer ${((await response.json()) as { token: string }).token}` }
}
