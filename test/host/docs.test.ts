import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { OpenApiDocument } from '../../lib/openapi/document.ts'
import { freePort } from '../helpers/ports.ts'
import { request, type Service, startService } from '../helpers/process/service.ts'

const startWithDocs = async (env: Record<string, string> = {}) => {
  const service = await startService({ env: { SVC_PROFILE: 'docs', SVC_DOCS_PORT: '0', ...env } })
  const { docs_url } = (await service.waitForLog('service_ready')) as { docs_url: string }
  return { service, docs: docs_url }
}

/** Sends a request line as it is: a client of the standard library would tidy up the path. */
const statusOf = async (url: string, target: string, method = 'GET'): Promise<number> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.end(`${method} ${target} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n\r\n`)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Number(/^HTTP\/1\.1 (\d+)/.exec(Buffer.concat(chunks).toString('latin1'))?.[1])
}

const corsOf = async (service: Service, origin: string) => {
  const { headers } = await service.request('GET', '/svc/pipeline', undefined, { origin })
  return headers.get('access-control-allow-origin')
}

describe('the API explorer', () => {
  it('serves its page, its files and the OpenAPI document only', async () => {
    const { service, docs } = await startWithDocs()
    const page = await request(docs, 'GET')
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const files = [...String(page.body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file)
    expect(files).toHaveLength(4)
    for (const file of files) {
      // A name and nothing more: no host elsewhere, no path above.
      expect(file).toMatch(/^[a-z0-9-]+\.(?:js|css|png)$/)
      const answer = await request(`${docs}/${file}`, 'GET')
      expect([file, answer.status, String(answer.body).length > 100]).toEqual([file, 200, true])
      expect(answer.headers.get('content-type')).toMatch(
        file.endsWith('.css') ? /^text\/css/ : file.endsWith('.js') ? /^text\/javascript/ : /^image/,
      )
      if (file.endsWith('.css')) expect(answer.body).not.toMatch(/url\(["']?https?:|@import/)
    }
    const { body } = (await request(`${docs}/openapi.json`, 'GET')) as { body: OpenApiDocument }
    expect(body.servers).toEqual([{ url: service.url }])
    expect(Object.keys(body.paths).length).toBeGreaterThan(25)

    for (const target of [
      '/package.json',
      '/swagger-ui-bundle.js.map',
      '/swagger-ui.css/',
      '/node_modules',
      '/../package.json',
      '/%2e%2e/package.json',
      '/..%2fpackage.json',
      '/....//package.json',
      '/swagger-ui.css/../../package.json',
      '//etc/passwd',
      '/%00',
      '/svc/pipeline',
    ]) {
      expect([target, await statusOf(docs, target)]).toEqual([target, 404])
    }
    expect(await statusOf(docs, '/openapi.json', 'POST')).toBe(405)
    expect(await statusOf(docs, '/openapi.json', 'TRACE')).toBe(405)
    await service.stop()
  })

  it('forbids foreign scripts, frames and requests by its headers', async () => {
    const { service, docs } = await startWithDocs()
    for (const path of ['/', '/explorer.js', '/swagger-ui-bundle.js', '/openapi.json', '/nothing']) {
      const { headers } = await request(`${docs}${path}`, 'GET')
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'; script-src 'self'; ")
      expect(policy).toContain(`connect-src 'self' ${service.url};`)
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toContain('unsafe-eval')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
    const { headers } = await request(`${docs}/swagger-ui.css`, 'GET')
    expect((await request(`${docs}/swagger-ui.css`, 'GET', undefined, { 'if-none-match': headers.get('etag') ?? '' })).status).toBe(304)
    await service.stop()
  })

  it('may call the API with a token or key; pages of other origins may not', async () => {
    const { service, docs } = await startWithDocs()
    expect(await corsOf(service, docs)).toBe(docs)
    expect(await corsOf(service, docs.replace('127.0.0.1', 'localhost'))).toBe(docs.replace('127.0.0.1', 'localhost'))
    for (const origin of ['http://evil.test', docs.replace('http:', 'https:'), `${docs}0`, service.url, 'null']) {
      expect([origin, await corsOf(service, origin)]).toEqual([origin, null])
    }
    const preflight = await service.request('OPTIONS', '/svc/pipeline', undefined, {
      origin: docs,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-api-key',
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(/authorization, content-type, x-api-key/)
    await service.stop()
  })

  it('stops with the service', async () => {
    const { service, docs } = await startWithDocs()
    expect(await service.stop()).toBe(0)
    await expect(fetch(docs)).rejects.toThrow()
  })

  it('is not served without the docs profile, and neither is the document', async () => {
    const port = await freePort()
    const service = await startService({ env: { SVC_DOCS_PORT: String(port) } })
    expect(await service.waitForLog('service_ready')).not.toHaveProperty('docs_url')
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow()
    for (const path of ['/openapi.json', '/svc/openapi.json', '/docs', '/swagger-ui.css']) {
      expect([path, (await service.request('GET', path)).status]).toEqual([path, 404])
    }
    expect(await corsOf(service, `http://127.0.0.1:${port}`)).toBeNull()
    await service.stop()
  })

  it('names the variable to change when its port is in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    await expect(startWithDocs({ SVC_DOCS_PORT: String(port) })).rejects.toThrow(/another program uses this port; set SVC_DOCS_PORT/)
    taken.close()
  })
})
