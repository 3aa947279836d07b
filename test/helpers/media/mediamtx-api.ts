import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type MediamtxVersion = 'before 1.17' | 'since 1.17'

interface ListedPath {
  readonly name: string
  readonly available: boolean
  /** False: a path that is always available, without a source of its own. */
  readonly online?: boolean
  readonly since?: string
}

/** A stand-in for the API of MediaMTX: GET /v3/paths/list with the fields and pages of its published OpenAPI document. */
export const startMediamtxApi = async ({
  version = 'since 1.17',
  credentials,
  port = 0,
}: {
  version?: MediamtxVersion
  credentials?: string
  port?: number
} = {}) => {
  let paths: readonly ListedPath[] = []
  let answer: ((response: ServerResponse) => void) | undefined
  let wanted = credentials
  const requests: { readonly url: string; readonly at: number; readonly authorization: string | undefined }[] = []

  const item = ({ name, available, online = available, since = '2026-11-21T10:00:00Z' }: ListedPath) => {
    const readyTime = available ? since : null
    const common = { name, confName: 'all_others', source: online ? { type: 'rtspSession', id: 'a' } : null, readers: [] }
    const before = { ...common, ready: available, readyTime, tracks: available ? ['H264'] : [], bytesReceived: 0, bytesSent: 0 }
    if (version === 'before 1.17') return before
    return { ...before, available, availableTime: readyTime, online, onlineTime: online ? since : null, inboundBytes: 0, outboundBytes: 0 }
  }

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://media.test')
    requests.push({ url: request.url ?? '', at: performance.now(), authorization: request.headers.authorization })
    const reply = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
    }
    if (answer !== undefined) return answer(response)
    if (wanted !== undefined && request.headers.authorization !== `Basic ${btoa(wanted)}`) {
      return reply(401, { status: 'error', error: 'authentication error' })
    }
    if (url.pathname !== '/v3/paths/list') return reply(404, { status: 'error', error: 'not found' })
    const [perPage, page] = [Number(url.searchParams.get('itemsPerPage') ?? 100), Number(url.searchParams.get('page') ?? 0)]
    const items = paths.slice(page * perPage, (page + 1) * perPage).map(item)
    reply(200, { itemCount: paths.length, pageCount: Math.ceil(paths.length / perPage), items })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  return {
    port: bound,
    url: `http://127.0.0.1:${bound}`,
    requests,
    /** What it lists from now on; a name alone is a path with media. */
    list(...listed: readonly (string | ListedPath)[]): void {
      paths = listed.map((path) => (typeof path === 'string' ? { name: path, available: true } : path))
    },
    /** Answers something else, or as usual again. */
    answerWith(other: ((response: ServerResponse) => void) | undefined): void {
      answer = other
    },
    requireCredentials(other: string | undefined): void {
      wanted = other
    },
    async stop(): Promise<void> {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

export type MediamtxApi = Awaited<ReturnType<typeof startMediamtxApi>>
