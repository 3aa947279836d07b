import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useChromium } from '../../helpers/browser/dashboard.ts'
import { createPipeline } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const chromium = useChromium({
  // Names of the attacker lead to this host, as a rebound name does.
  flags: ['--host-resolver-rules=MAP *.test 127.0.0.1'],
  // Newer browsers ask the user before a page may reach this host; the service must not rely on it.
  without: ['LocalNetworkAccessChecks', 'BlockInsecurePrivateNetworkRequests'],
})
const service = shareService({ SVC_LOG_LEVEL: 'debug', SVC_PROFILE: 'docs', SVC_DOCS_PORT: '0' })
const PLANTED = JSON.stringify({ id: 'planted', mode: 'simple', on_demand: true, source: { uri: 'test://ball' } })

declare const sendForm: (action: string, enctype: string, body: string) => Promise<string>
declare const outcome: (work: () => Promise<unknown>) => Promise<string>

/** Defined in each page. */
const SCRIPT = `
window.sendForm = (action, enctype, body) => new Promise((resolve) => {
  const frame = Object.assign(document.createElement('iframe'), { name: 'target' })
  frame.onload = () => resolve('sent')
  const form = Object.assign(document.createElement('form'), { method: 'POST', action, enctype, target: 'target' })
  // As text/plain the field is sent as name=value: a JSON text that is cut at its first equals sign.
  const [name, ...rest] = body.replace('"test://ball"', '"test://ball?a=b"').split('=')
  form.append(Object.assign(document.createElement('input'), { name, value: rest.join('=') }))
  document.body.append(frame, form)
  form.submit()
})
window.outcome = async (work) => { try { return String(await work()) } catch (error) { return error.name } }
`

const attacker = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><body>attacker</body>')
})
let evil: string
beforeAll(async () => {
  await once(attacker.listen(0, '127.0.0.1'), 'listening')
  evil = `http://evil.test:${(attacker.address() as AddressInfo).port}`
})
afterAll(() => {
  attacker.closeAllConnections()
  attacker.close()
})

const visit = async (url: string): Promise<Page> => {
  const { page } = await chromium.open()
  await page.addInitScript(SCRIPT)
  await page.goto(url)
  return page
}

/** How many requests with this method the service has answered with this status. */
const answered = (method: string, status: number): number =>
  service.log.filter((line) => ['"event":"request"', `"method":"${method}"`, `"status":${status},`].every((part) => line.includes(part)))
    .length

/** Runs it, and waits until the service has answered one more request of this kind: what never arrived proves nothing. */
const arriving = async <T>(method: string, status: number, work: () => Promise<T>): Promise<T> => {
  const before = answered(method, status)
  const result = await work()
  await expect.poll(() => answered(method, status)).toBeGreaterThan(before)
  return result
}

const state = async () => {
  const { body } = await service.request('GET', '/svc/pipeline')
  return [
    (body as { id: string; state: string }[]).map(({ id, state }) => [id, state]),
    (await service.request('GET', '/svc/settings')).body,
    (await service.request('GET', '/svc/auth/status')).body,
  ]
}

describe('a page of another origin in Chromium', () => {
  it.each<[string, (given: [api: string, body: string]) => Promise<unknown>]>([
    ['a POST without a preflight', ([api, body]) => outcome(() => fetch(`${api}/svc/pipeline`, { method: 'POST', mode: 'no-cors', body }))],
    ['a form of text/plain', ([api, body]) => sendForm(`${api}/svc/pipeline`, 'text/plain', body)],
    ['a form', ([api, body]) => sendForm(`${api}/svc/pipeline`, 'application/x-www-form-urlencoded', body)],
    ['a beacon', async ([api, body]) => String(navigator.sendBeacon(`${api}/svc/pipeline`, body))],
  ])('changes nothing by %s', async (_, attack) => {
    const before = await state()
    const page = await visit(evil)
    await arriving('POST', 403, () => page.evaluate(attack, [service.url, PLANTED] as [string, string]))
    expect(await state()).toEqual(before)
  })

  it('changes nothing by requests that need a preflight', async () => {
    await createPipeline(service, 'watched')
    const before = await state()
    const page = await visit(evil)
    const results = await arriving('OPTIONS', 405, () =>
      page.evaluate(
        ([api, body]) => {
          const send = (method: string, path: string, more: RequestInit = {}) =>
            outcome(() => fetch(`${api}/svc/${path}`, { method, ...more }))
          return Promise.all([
            send('PUT', 'settings', { body: '{"start_timeout_seconds":77}' }),
            send('PUT', 'auth/password', { body: '{"password":"mine"}' }),
            send('PUT', 'pipeline/watched/stop'),
            send('DELETE', 'pipeline/watched'),
            send('POST', 'pipeline', { body, headers: { 'content-type': 'application/json' } }),
            // Without CORS only methods that need no preflight may be used.
            send('PUT', 'settings', { mode: 'no-cors', body: '{}' }),
          ])
        },
        [service.url, PLANTED] as [string, string],
      ),
    )
    expect(results).toEqual(Array(6).fill('TypeError'))
    expect(await state()).toEqual(before)
  })

  it('reads nothing: no answer, no event, no picture', async () => {
    await createPipeline(service, 'watched')
    const page = await visit(evil)
    const read = await arriving('GET', 200, () =>
      page.evaluate(async (api) => {
        const events = await new Promise<string>((resolve) => {
          const source = new EventSource(`${api}/svc/events`)
          source.onopen = () => resolve('opened')
          source.onerror = () => resolve(source.readyState === EventSource.CLOSED ? 'refused' : 'error')
        })
        const image = Object.assign(new Image(), { src: `${api}/svc/pipeline/watched/snapshot` })
        return {
          events,
          answer: await outcome(async () => (await fetch(`${api}/svc/pipeline`)).text()),
          opaque: await outcome(async () => (await fetch(`${api}/svc/pipeline`, { mode: 'no-cors' })).text()),
          picture: await outcome(() => image.decode()),
        }
      }, service.url),
    )
    expect(read).toEqual({ answer: 'TypeError', opaque: 'TypeError', events: 'refused', picture: 'EncodingError' })
  })

  it('whose name was bound to this host afterwards reads and changes nothing', async () => {
    await createPipeline(service, 'watched')
    const before = await state()
    const rebound = service.url.replace('127.0.0.1', 'rebound.test')
    const { page } = await chromium.open()
    await page.addInitScript(SCRIPT)
    // The first answer comes from the attacker, everything after it from the service.
    await page.route(`${rebound}/`, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html><body>attacker</body>' }))
    await page.goto(`${rebound}/`)
    const read = await page.evaluate(async (body) => {
      const ask = async (method: string, path: string, content: string | null = null) => {
        const answer = await fetch(path, { method, body: content })
        return `${answer.status} ${((await answer.json()) as { details: { reason: string } }).details.reason}`
      }
      const source = new EventSource('/svc/events')
      const events = await new Promise<string>((resolve) => {
        source.onopen = () => resolve('opened')
        source.onerror = () => resolve('refused')
      })
      const image = Object.assign(new Image(), { src: '/svc/pipeline/watched/snapshot' })
      return [
        events,
        await outcome(() => image.decode()),
        await ask('GET', '/svc/pipeline'),
        await ask('POST', '/svc/pipeline', body),
        await ask('PUT', '/svc/auth/password', '{"password":"mine"}'),
        await ask('PUT', '/svc/pipeline/watched/stop'),
      ]
    }, PLANTED)
    expect(read).toEqual(['refused', 'EncodingError', ...Array(4).fill('403 unknown_host')])
    expect(await state()).toEqual(before)
  })
})

describe('the pages of the service itself in Chromium', () => {
  const create = async ([api, body]: [string, string]) => (await fetch(`${api}/svc/pipeline`, { method: 'POST', body })).status
  const docs = async () => ((await service.waitForLog('service_ready')) as { docs_url: string }).docs_url

  it('may do everything: those of its own origin', async () => {
    const page = await visit(`${service.url}/svc/version`)
    expect(await page.evaluate(create, ['', PLANTED] as [string, string])).toBe(201)
    expect(await page.evaluate(async () => (await fetch('/svc/pipeline/planted', { method: 'DELETE' })).status)).toBe(204)
  })

  it('may do everything: the API explorer by its own button', async () => {
    const { page } = await chromium.open()
    // It draws every operation of its document, which takes ten seconds of CPU time.
    await page.route('**/openapi.json', async (route) => {
      const response = await route.fetch()
      const document = await response.json()
      await route.fulfill({ response, json: { ...document, paths: { '/svc/pipeline': document.paths['/svc/pipeline'] } } })
    })
    await page.goto(await docs())
    const operation = page.locator('#operations-Pipelines-createPipeline')
    await operation.locator('.opblock-summary-control').click()
    await operation.locator('.try-out__btn').click()
    await operation.locator('textarea.body-param__text').fill(PLANTED)
    await operation.locator('button.execute').click()
    await operation.locator('.live-responses-table .response-col_status').filter({ hasText: '201' }).waitFor()
    expect((await service.request('GET', '/svc/pipeline/planted')).status).toBe(200)
  })

  it('may do everything: the API explorer by its name', async () => {
    const page = await visit(new URL('openapi.json', (await docs()).replace('127.0.0.1', 'localhost')).href)
    const api = service.url.replace('127.0.0.1', 'localhost')
    expect(await page.evaluate(create, [api, PLANTED] as [string, string])).toBe(201)
  })
})
