import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { parseAddress } from '../../../../engine/faults/address.ts'
import { HlsClient } from '../../../../engine/hls/hls-client.ts'

const listen = async (answer: RequestListener) => {
  const asked: IncomingMessage[] = []
  const server = createServer((request, response) => {
    asked.push(request)
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { asked, port, url: `http://127.0.0.1:${port}` }
}

const fetchFrom = (source: string, playlistIp = '127.0.0.1') => {
  const address = parseAddress(source)
  const client = new HlsClient(address, AbortSignal.timeout(10_000))
  return (uri: string, more: { readonly offset?: number; readonly length?: number; readonly maxBytes?: number } = {}) => {
    const { offset = 0, length, maxBytes = 1000 } = more
    return client.fetch(
      { uri, maxBytes, timeoutMs: 5000, range: length === undefined ? undefined : { offset, length } },
      { address, ip: playlistIp },
    )
  }
}

it('sends credentials and cookies to the server alone that they were given for', async () => {
  const other = await listen((_, response) => void response.writeHead(200, { 'set-cookie': 'theirs=1' }).end('x'))
  const first = await listen((request, response) => {
    if (request.headers.authorization === undefined) response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
    else if (request.url === '/away') response.writeHead(302, { location: `${other.url}/there` }).end()
    else response.writeHead(200, { 'set-cookie': ['session=abc; Path=/; HttpOnly', '=none', 'x'] }).end('y')
  })
  const fetch = fetchFrom(first.url.replace('://', '://user:p%40ss@'))
  for (const uri of ['a.ts', 'b.ts', '/away', `${other.url}/direct`, `http://localhost:${first.port}/name`])
    await fetch(uri).catch(() => {})
  const basic = `Basic ${Buffer.from('user:p@ss').toString('base64')}`
  const fields = (requests: readonly IncomingMessage[]) =>
    requests.map(({ url, headers }) => [url, headers.authorization, headers.cookie, headers.referer])
  expect(fields(first.asked)).toEqual([
    ['/a.ts', undefined, undefined, undefined],
    ['/a.ts', basic, undefined, undefined],
    ['/b.ts', basic, 'session=abc', undefined],
    ['/away', basic, 'session=abc', undefined],
    ['/name', undefined, undefined, undefined],
  ])
  expect(fields(other.asked)).toEqual([
    ['/there', undefined, undefined, undefined],
    ['/direct', undefined, 'theirs=1', undefined],
  ])
})

it.each([
  ['an address of this host', (port: number) => `http://127.0.0.1:${port}/a`],
  ['one in another notation', (port: number) => `http://2130706433:${port}/a`],
  ['a name of it', (port: number) => `http://localhost:${port}/a`],
])('reaches nothing inside for a playlist from outside: %s', async (_, uri) => {
  const inside = await listen((_request, response) => void response.end('secret'))
  await expect(fetchFrom('http://93.184.216.34/a.m3u8', '93.184.216.34')(uri(inside.port))).rejects.toMatchObject({
    reason: 'source_error',
    message: expect.stringContaining('inside of a network'),
  })
  expect(inside.asked).toEqual([])
})

it('opens nothing but HTTP, and reads no more than it may', async () => {
  const server = await listen((request, response) => {
    const known = request.headers.range === 'bytes=2-4'
    response
      .writeHead(known && request.url === '/ranges' ? 206 : 200)
      .end(known && request.url === '/ranges' ? 'cde' : 'abcdefgh'.repeat(1000))
  })
  const fetch = fetchFrom(`${server.url}/a.m3u8`)
  for (const uri of ['file:///etc/passwd', 'data:,x', 'ftp://h/x', 'javascript:1'])
    await expect(fetch(uri)).rejects.toMatchObject({ reason: 'unsupported' })
  await expect(fetch('large')).rejects.toMatchObject({ reason: 'source_error', message: expect.stringContaining('larger than') })
  expect(String((await fetch('ranges', { offset: 2, length: 3 })).bytes)).toBe('cde')
  expect(String((await fetch('whole', { offset: 2, length: 3 })).bytes)).toBe('cde')
})

it('follows few redirects', async () => {
  const server = await listen((_, response) => void response.writeHead(302, { location: '/again' }).end())
  await expect(fetchFrom(server.url)('a')).rejects.toMatchObject({
    reason: 'source_error',
    message: expect.stringContaining('redirects too often'),
  })
  expect(server.asked.length).toBeLessThan(10)
})
