import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createRemoteDocument } from '../../../../../handlers/node/declared/remote-document.ts'
import { startHttpServer } from '../../../../helpers/http-server.ts'

const running = new AbortController().signal
const problemOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: Error) => error.message,
  )

describe('a document at an address', () => {
  it('is asked by its ETag with its password, and answers only what has changed', async () => {
    let [etag, text]: [string | undefined, string] = ['"1"', 'pipelines: []']
    const asked: IncomingMessage['headers'][] = []
    const { url } = await startHttpServer(({ headers }, response) => {
      asked.push(headers)
      if (etag !== undefined && headers['if-none-match'] === etag) response.writeHead(304).end()
      else response.writeHead(200, etag === undefined ? {} : { etag }).end(text)
    })
    const document = createRemoteDocument(`${url.replace('://', '://site:pa%40ss@')}/site.yaml`)
    expect(document.name).toBe(`${url.replace('://', '://***@')}/site.yaml`)
    expect([await document.read(running), await document.read(running)]).toEqual(['pipelines: []', undefined])
    expect(asked.map((headers) => [headers.authorization, headers['if-none-match']])).toEqual([
      [`Basic ${btoa('site:pa@ss')}`, undefined],
      [`Basic ${btoa('site:pa@ss')}`, '"1"'],
    ])
    ;[etag, text] = ['"2"', 'pipelines: [] # two']
    expect(await document.read(running)).toBe('pipelines: [] # two')
    // A server without ETags.
    etag = undefined
    expect(await document.read(running)).toBeUndefined()
    text = '[]'
    expect([await document.read(running), await document.read(running)]).toEqual(['[]', undefined])
  })

  it('is followed to another path of its server, and to no other origin', async () => {
    const other = await startHttpServer((_, response) => response.end('taken'))
    const answers: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
      '/moved': (response) => response.writeHead(308, { location: '/site.yaml' }).end(),
      '/site.yaml': (response) => response.end('[]'),
      '/away': (response) => response.writeHead(302, { location: `${other.url.replace('://', '://u:pa55@')}/x?token=t0ken` }).end(),
      '/round': (response) => response.writeHead(302, { location: '/round' }).end(),
      '/none': (response) => response.writeHead(404).end('a secret'),
      '/endless': (response) => response.writeHead(200).end(Buffer.alloc(17 * 1024 * 1024, 32)),
    }
    const { url } = await startHttpServer((request, response) => answers[request.url ?? '']?.(response))
    const read = (path: string) => createRemoteDocument(url + path).read(running)
    expect(await read('/moved')).toBe('[]')
    expect(await problemOf(read('/away'))).toBe(`it redirects to ${other.url}, which is another origin; set the address it leads to`)
    expect(await problemOf(read('/round'))).toBe('it redirects more than 5 times')
    expect(await problemOf(read('/none'))).toBe('it answers 404')
    expect(await problemOf(read('/endless'))).toBe('it has more than 16777216 bytes')
    expect(await problemOf(createRemoteDocument('http://u:pa55@127.0.0.1:2/x').read(running))).toMatch(/^connect ECONNREFUSED [\d.:]+$/)
  })
})
