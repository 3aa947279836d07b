import { describe, expect, it } from 'vitest'
import { type DashboardFile, withDashboard } from '../../../../handlers/dashboard/dashboard.ts'

const bytes = (text: string) => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>
const file = (text: string, more: Partial<DashboardFile> = {}): DashboardFile => ({
  type: 'text/javascript; charset=utf-8',
  etag: `"${text.length}"`,
  immutable: true,
  bytes: bytes(text),
  ...more,
})

const FILES = new Map([
  [
    'index.html',
    file('<meta name="map-tiles" content="%MAP_TILES%">%OUTPUT_TLS%%LIST%', { type: 'text/html; charset=utf-8', immutable: false }),
  ],
  ['main-ABCDEFGH.js', file('script', { brotli: bytes('br'), gzip: bytes('gz') })],
])

const api = async (request: Request) => new Response(`api ${new URL(request.url).pathname}`)
const ask = (path: string, init?: RequestInit, mapTiles?: string) =>
  withDashboard(api, { files: FILES, mapTiles })(new Request(`http://127.0.0.1${path}`, init))
const policyOf = (answer: Response) => (answer.headers.get('content-security-policy') ?? '').split('; ')

describe('the dashboard beside the API', () => {
  it('redirects the root to the page, and leaves every other path to the API', async () => {
    for (const path of ['/', '/svc/dashboard']) {
      const answer = await ask(path)
      expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 302, '/svc/dashboard/'])
    }
    for (const path of ['/svc/pipeline', '/svc/dashboards', '/svc/dashboard.js', '/svc', '/other'])
      expect(await (await ask(path)).text()).toBe(`api ${path}`)
  })

  it('preloads the list of pipelines, unless it needs a token', async () => {
    const pageOf = async (isOpen: () => Promise<boolean>) =>
      (await withDashboard(api, { files: FILES, isOpen })(new Request('http://127.0.0.1/svc/dashboard/'))).text()
    expect(await pageOf(async () => true)).toContain('<link rel="preload" as="fetch" crossorigin="anonymous" href="../pipeline">')
    expect(await pageOf(async () => false)).not.toContain('link')
    // Without a database, too.
    expect(await pageOf(() => Promise.reject(new Error('no database')))).not.toContain('link')
  })

  it('allows its inline script by the hash', async () => {
    const files = new Map([['index.html', file('<script>alert(1)</script>', { type: 'text/html; charset=utf-8' })]])
    const answer = await withDashboard(api, { files })(new Request('http://127.0.0.1/svc/dashboard/'))
    expect(policyOf(answer)).toContain("script-src 'self' 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='")
  })

  it('serves its own files only', async () => {
    for (const path of ['none.js', 'main-ABCDEFGH.js.br', 'main-ABCDEFGH.js/'])
      expect([path, (await ask(`/svc/dashboard/${path}`)).status]).toEqual([path, 404])
    for (const path of ['../pipeline', '%2e%2e/x']) expect(await (await ask(`/svc/dashboard/${path}`)).text()).toMatch(/^api /)
  })

  it('lets browsers cache files with a hash in their name, and not the page', async () => {
    expect((await ask('/svc/dashboard/main-ABCDEFGH.js')).headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect((await ask('/svc/dashboard/')).headers.get('cache-control')).toBe('no-cache')
    const again = await ask('/svc/dashboard/main-ABCDEFGH.js', { headers: { 'if-none-match': '"6"' } })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  it.each([
    ['br, gzip', 'br', 'br'],
    ['gzip', 'gzip', 'gz'],
    ['br;q=0, gzip;q=0.5', 'gzip', 'gz'],
    ['identity', null, 'script'],
  ])('answers Accept-Encoding "%s" with %s', async (accepted, encoding, body) => {
    const answer = await ask('/svc/dashboard/main-ABCDEFGH.js', { headers: { 'accept-encoding': accepted } })
    const found = [answer.headers.get('content-encoding'), await answer.text(), answer.headers.get('vary')]
    expect(found).toEqual([encoding, body, 'accept-encoding'])
  })

  it('answers HEAD without a body, and refuses other methods', async () => {
    const head = await ask('/svc/dashboard/main-ABCDEFGH.js', { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '6', ''])
    const post = await ask('/svc/dashboard/', { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('allows nothing inline, no other host and no frame', async () => {
    for (const path of ['/svc/dashboard/', '/svc/dashboard/none', '/']) {
      const answer = await ask(path)
      const own = ["script-src 'self'", "style-src 'self'", "img-src 'self' blob:", 'media-src blob:', "connect-src 'self'"]
      const none = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
      expect(policyOf(answer)).toEqual(["default-src 'none'", ...own, ...none])
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  it.each([
    ['https://tiles.example.org/{z}/{x}/{y}.png', 'https://tiles.example.org'],
    ['https://{s}.tiles.example.org:8443/{z}/{x}/{y}.png?a="b"', 'https://*.tiles.example.org:8443'],
  ])('allows the tiles of %s', async (template, origin) => {
    const answer = await ask('/svc/dashboard/', {}, template)
    expect(policyOf(answer)).toContain(`img-src 'self' blob: ${origin}`)
    expect(await answer.text()).toBe(`<meta name="map-tiles" content="${template.replaceAll('"', '&quot;')}">off`)
  })
})
