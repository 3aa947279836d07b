import type { IncomingMessage, RequestListener } from 'node:http'
import { json, text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { createRequestListener } from '../../../../../handlers/node/server/http-server.ts'
import { startHttpServer } from '../../../../helpers/http-server.ts'
import { silentLog } from '../../../../helpers/rtsp/media.ts'

type FrameworkRequest = IncomingMessage & { originalUrl?: string; body?: unknown }

/** Answers what it was asked; `/` leads to `/page`. */
const listener = createRequestListener({
  app: async (request) => {
    const path = new URL(request.url).pathname
    if (path === '/') return new Response(null, { status: 302, headers: { location: '/page' } })
    return Response.json({ path, body: await request.text() }, { headers: { location: `${path}/gate` } })
  },
  trustProxy: false,
  log: silentLog,
})

/** A server that does to a request what Express does for `app.use('/video', listener)`, and then a parser if there is one. */
const serve = async (parse?: (request: FrameworkRequest) => Promise<unknown>) => {
  const logged: unknown[] = []
  const mount: RequestListener = async (request: FrameworkRequest, response) => {
    request.originalUrl = request.url ?? ''
    if (parse !== undefined) request.body = await parse(request)
    request.url = request.originalUrl.replace(/^\/video\/?/, '/')
    listener(request, response)
    logged.push([request.originalUrl, request.body])
  }
  return { url: (await startHttpServer(mount)).url, logged }
}

const post = async (url: string, type: string): Promise<unknown> => {
  const response = await fetch(`${url}/video/svc/pipeline`, { method: 'POST', headers: { 'content-type': type }, body: '{"id":"gate"}' })
  return { status: response.status, ...((await response.json()) as object) }
}

const asked = { status: 200, path: '/svc/pipeline', body: '{"id":"gate"}' }

it.each<[string, Parameters<typeof serve>[0], string, unknown]>([
  ['nothing', undefined, 'text/plain', undefined],
  ['a parser of JSON', json, 'application/json; charset=utf-8', { id: 'gate' }],
  ['a parser of text', text, 'text/plain', '{"id":"gate"}'],
])('answers at the path of a mount, behind %s', async (_, parse, type, body) => {
  const { url, logged } = await serve(parse)
  expect(await post(url, type)).toEqual(asked)
  // What the framework uses after the listener, as to log the request.
  expect(logged).toEqual([['/video/svc/pipeline', body]])
})

it('says that a parser has read a body that cannot be made again', async () => {
  const form = async (request: IncomingMessage) => Object.fromEntries(new URLSearchParams(await text(request)))
  const { url } = await serve(form)
  expect(await post(url, 'application/x-www-form-urlencoded')).toMatchObject({
    status: 400,
    code: 'VALIDATION_ERROR',
    message: expect.stringContaining('Put the service before its parsers'),
  })
})

it.each([
  ['/video', 302, '/video/page'],
  ['/video/', 302, '/video/page'],
  ['/video?from=here', 302, '/video/page'],
  ['/video/svc/pipeline?x=1', 200, '/video/svc/pipeline/gate'],
  ['/', 302, '/page'],
])('a Location leads to what is at the mount: %s', async (path, status, location) => {
  const { url } = await serve()
  const answer = await fetch(`${url}${path}`, { redirect: 'manual' })
  expect([answer.status, answer.headers.get('location')]).toEqual([status, location])
})
