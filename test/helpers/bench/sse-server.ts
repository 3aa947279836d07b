/**
 * The peer of the events: a plain node:http server that sends what it gets by PATCH to everybody who reads. Prints `ready URL`.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const readers = new Set<ServerResponse>()
let id = 0

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write('retry: 2000\n\nevent: pipeline_status\ndata: {}\n\n')
    readers.add(response)
    response.on('close', () => readers.delete(response))
    return
  }
  let body = ''
  request.setEncoding('utf8').on('data', (text: string) => {
    body += text
  })
  request.on('end', () => {
    id += 1
    const event = `id: ${id}\nevent: geolocation\ndata: ${JSON.stringify(JSON.parse(body))}\n\n`
    for (const reader of readers) reader.write(event)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
