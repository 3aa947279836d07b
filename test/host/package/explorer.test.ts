import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { OpenApiDocument } from '../../../lib/openapi/document.ts'
import { freePort } from '../../helpers/ports.ts'
import { request, startService } from '../../helpers/process/service.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const DOCS = { SVC_PROFILE: 'docs', SVC_DOCS_PORT: '0' }
const service = shareService(DOCS)
const docsUrl = async () => ((await service.waitForLog('service_ready')) as { docs_url: string }).docs_url

/** Sends a request line as it is: a client of the standard library would tidy up the path. */
const statusOf = async (url: string, target: string, method = 'GET'): Promise<number> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.end(`${method} ${target} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n\r\n`)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Number(/^HTTP\/1\.1 (\d+)/.exec(Buffer.concat(chunks).toString('latin1'))?.[1])
}

describe('the API explorer', () => {
  it('serves its page, its files and the OpenAPI document only', async () => {
    const docs = await docsUrl()
    const page = await request(docs, 'GET')
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const files = [...String(page.body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file)
    expect(files).toHaveLength(4)
    const types = { css: /^text\/css/, js: /^text\/javascript/, png: /^image/ }
    for (const file of files) {
      // A name and nothing more: no host elsewhere, no path above.
      expect(file).toMatch(/^[a-z0-9-]+\.(?:js|css|png)$/)
      const { status, headers, body } = await request(`${docs}/${file}`, 'GET')
      expect([file, status, String(body).length > 100]).toEqual([file, 200, true])
      expect(headers.get('content-type')).toMatch(types[file.split('.')[1] as keyof typeof types])
      if (file.endsWith('.css')) expect(body).not.toMatch(/url\(["']?https?:|@import/)
    }
    const { body } = (await request(`${docs}/openapi.json`, 'GET')) as { body: OpenApiDocument }
    expect([body.servers, Object.keys(body.paths).length > 25]).toEqual([[{ url: service.url }], true])

    const above = ['/../package.json', '/%2e%2e/package.json', '/..%2fpackage.json', '/swagger-ui.css/../../package.json', '//etc/passwd']
    for (const target of [...above, '/package.json', '/swagger-ui-bundle.js.map', '/swagger-ui.css/', '/%00', '/svc/pipeline'])
      expect([target, await statusOf(docs, target)]).toEqual([target, 404])
    for (const method of ['POST', 'TRACE']) expect(await statusOf(docs, '/openapi.json', method)).toBe(405)
  })

  it('forbids foreign scripts, frames and requests by its headers', async () => {
    const docs = await docsUrl()
    for (const path of ['/', '/explorer.js', '/swagger-ui-bundle.js', '/openapi.json', '/nothing']) {
      const { headers } = await request(`${docs}${path}`, 'GET')
      const policy = headers.get('content-security-policy') ?? ''
      for (const part of ["default-src 'none'; script-src 'self'; ", `connect-src 'self' ${service.url};`, "frame-ancestors 'none'"]) {
        expect(policy).toContain(part)
      }
      expect(policy).not.toContain('unsafe-eval')
      const fields = ['x-content-type-options', 'x-frame-options', 'referrer-policy', 'access-control-allow-origin']
      expect(fields.map((name) => headers.get(name))).toEqual(['nosniff', 'DENY', 'no-referrer', null])
    }
    const etag = (await request(`${docs}/swagger-ui.css`, 'GET')).headers.get('etag') ?? ''
    expect((await request(`${docs}/swagger-ui.css`, 'GET', undefined, { 'if-none-match': etag })).status).toBe(304)
  })

  it('may call the API; pages of other origins may not', async () => {
    const docs = await docsUrl()
    const corsOf = async (origin: string) =>
      (await service.request('GET', '/svc/pipeline', undefined, { origin })).headers.get('access-control-allow-origin')
    for (const origin of [docs, docs.replace('127.0.0.1', 'localhost')]) expect(await corsOf(origin)).toBe(origin)
    for (const origin of ['http://evil.test', docs.replace('http:', 'https:'), `${docs}0`, service.url, 'null']) {
      expect([origin, await corsOf(origin)]).toEqual([origin, null])
    }
  })

  it('stops with the service, and names the variable to change when its port is in use', async () => {
    const own = await startService({ env: DOCS })
    const { docs_url } = (await own.waitForLog('service_ready')) as { docs_url: string }
    expect((await fetch(docs_url)).status).toBe(200)
    expect(await own.stop()).toBe(0)
    await expect(fetch(docs_url)).rejects.toThrow()
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const start = startService({ env: { ...DOCS, SVC_DOCS_PORT: String(port) } })
    await expect(start).rejects.toThrow(/another program uses this port; set SVC_DOCS_PORT/)
    taken.close()
  })

  it('is not served without the docs profile, and neither is the document; nor the dashboard when it is turned off', async () => {
    const port = await freePort()
    const without = await startService({ env: { SVC_DOCS_PORT: String(port), SVC_DASHBOARD: '0' } })
    expect(await without.waitForLog('service_ready')).not.toHaveProperty('docs_url')
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow()
    for (const path of ['/openapi.json', '/svc/openapi.json', '/docs', '/swagger-ui.css', '/', '/svc/dashboard/']) {
      expect([path, (await without.request('GET', path)).status]).toEqual([path, 404])
    }
  })
})
