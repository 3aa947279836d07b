import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Service, startService } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Names of the attacker lead to this host, as a rebound name does.
  '--host-resolver-rules=MAP *.test 127.0.0.1',
  // Newer browsers ask the user before a page may reach this host; the service must not rely on it.
  '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests',
]

const BALL = { id: 'watched', mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }
const PLANTED = JSON.stringify({ id: 'planted', mode: 'simple', on_demand: true, source: { uri: 'test://ball' } })

/** Ways to send a POST to any address without asking it first. */
const ATTACKS = {
  'a POST without a preflight': async ([api, body]: [string, string]) =>
    (await fetch(`${api}/svc/pipeline`, { method: 'POST', mode: 'no-cors', body })).type,
  'a form of text/plain': async ([api, body]: [string, string]) => sendForm(`${api}/svc/pipeline`, 'text/plain', body),
  'a form': async ([api, body]: [string, string]) => sendForm(`${api}/svc/pipeline`, 'application/x-www-form-urlencoded', body),
  'a beacon': async ([api, body]: [string, string]) => String(navigator.sendBeacon(`${api}/svc/pipeline`, body)),
} as const

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

let browser: Browser
let service: Service
let dataDir: string
let docs: string
const attacker = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><body>attacker</body>')
})
let evil: string

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS })
  dataDir = mkdtempSync(join(tmpdir(), 'svc-browser-'))
  service = await startService({ dataDir, env: { SVC_LOG_LEVEL: 'debug', SVC_PROFILE: 'docs', SVC_DOCS_PORT: '0' } })
  docs = ((await service.waitForLog('service_ready')) as { docs_url: string }).docs_url
  expect((await service.request('POST', '/svc/pipeline', BALL)).status).toBe(201)
  attacker.listen(0, '127.0.0.1')
  await once(attacker, 'listening')
  evil = `http://evil.test:${(attacker.address() as AddressInfo).port}`
})
afterAll(async () => {
  await browser?.close()
  await service?.stop()
  rmSync(dataDir, { recursive: true, force: true })
  attacker.closeAllConnections()
  attacker.close()
})

const visit = async (url: string): Promise<Page> => {
  const page = await browser.newPage()
  await page.addInitScript(SCRIPT)
  await page.goto(url)
  return page
}

/** How many requests with this method the service has answered with this status. */
const answered = (method: string, status: number): number =>
  service.log.filter(
    (line) => line.includes('"event":"request"') && line.includes(`"method":"${method}"`) && line.includes(`"status":${status},`),
  ).length

/** Runs it, and waits until the service has answered one more request of this kind: what never arrived proves nothing. */
const arriving = async <T>(method: string, status: number, work: () => Promise<T>): Promise<T> => {
  const before = answered(method, status)
  const result = await work()
  await until(
    async () => answered(method, status),
    (count) => count > before,
  )
  return result
}

const state = async () => ({
  pipelines: (await service.request('GET', '/svc/pipeline')).body.map(({ id, state: phase }: Record<string, string>) => [id, phase]),
  settings: (await service.request('GET', '/svc/settings')).body,
  auth: (await service.request('GET', '/svc/auth/status')).body,
})

describe('a page of another origin in Chromium', () => {
  for (const [name, attack] of Object.entries(ATTACKS)) {
    it(`changes nothing by ${name}`, async () => {
      const before = await state()
      const page = await visit(evil)
      await arriving('POST', 403, () => page.evaluate(attack, [service.url, PLANTED] as [string, string]))
      expect(await state()).toEqual(before)
      await page.close()
    })
  }

  it('changes nothing by requests that need a preflight', async () => {
    const before = await state()
    const page = await visit(evil)
    const results = await arriving('OPTIONS', 405, () =>
      page.evaluate(
        ([api, body]) =>
          Promise.all([
            outcome(() => fetch(`${api}/svc/settings`, { method: 'PUT', body: '{"start_timeout_seconds":77}' })),
            outcome(() => fetch(`${api}/svc/auth/password`, { method: 'PUT', body: '{"password":"mine"}' })),
            outcome(() => fetch(`${api}/svc/pipeline/watched/stop`, { method: 'PUT' })),
            outcome(() => fetch(`${api}/svc/pipeline/watched`, { method: 'DELETE' })),
            outcome(() => fetch(`${api}/svc/pipeline`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })),
            // Without CORS only methods that need no preflight may be used.
            outcome(() => fetch(`${api}/svc/settings`, { method: 'PUT', mode: 'no-cors', body: '{}' })),
          ]),
        [service.url, PLANTED] as [string, string],
      ),
    )
    expect(results).toEqual(Array(6).fill('TypeError'))
    expect(await state()).toEqual(before)
    await page.close()
  })

  it('reads nothing: no answer, no event, no pixel', async () => {
    const page = await visit(evil)
    const read = await arriving('GET', 200, () =>
      page.evaluate(async (api) => {
        const answer = await outcome(async () => (await fetch(`${api}/svc/pipeline`)).text())
        const opaque = await outcome(async () => (await fetch(`${api}/svc/pipeline`, { mode: 'no-cors' })).text())
        const events = await new Promise<string>((resolve) => {
          const source = new EventSource(`${api}/svc/events`)
          source.onopen = () => resolve('opened')
          source.addEventListener('pipeline_status', () => resolve('event'))
          source.onerror = () => resolve(source.readyState === EventSource.CLOSED ? 'refused' : 'error')
        })
        const image = new Image()
        image.src = `${api}/svc/pipeline/watched/snapshot`
        await image.decode()
        const canvas = document.createElement('canvas').getContext('2d')
        canvas?.drawImage(image, 0, 0)
        const pixels = await outcome(async () => canvas?.getImageData(0, 0, 1, 1).data.length)
        return { answer, opaque, events, pixels }
      }, service.url),
    )
    expect(read).toEqual({ answer: 'TypeError', opaque: '', events: 'refused', pixels: 'SecurityError' })
    await page.close()
  })

  it('whose name was bound to this host afterwards reads and changes nothing', async () => {
    const before = await state()
    const rebound = service.url.replace('127.0.0.1', 'rebound.test')
    const page = await browser.newPage()
    await page.addInitScript(SCRIPT)
    // The first answer comes from the attacker, everything after it from the service.
    await page.route(`${rebound}/`, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html><body>attacker</body>' }))
    await page.goto(`${rebound}/`)
    const read = await page.evaluate(async (body) => {
      const ask = async (method: string, path: string, content?: string) => {
        const answer = await fetch(path, { method, ...(content !== undefined && { body: content }) })
        return [answer.status, ((await answer.json()) as { details: { reason: string } }).details.reason]
      }
      const source = new EventSource('/svc/events')
      const events = await new Promise<string>((resolve) => {
        source.onopen = () => resolve('opened')
        source.onerror = () => resolve('refused')
      })
      const image = Object.assign(new Image(), { src: '/svc/pipeline/watched/snapshot' })
      return {
        list: await ask('GET', '/svc/pipeline'),
        create: await ask('POST', '/svc/pipeline', body),
        password: await ask('PUT', '/svc/auth/password', '{"password":"mine"}'),
        stop: await ask('PUT', '/svc/pipeline/watched/stop'),
        events,
        image: await outcome(() => image.decode()),
      }
    }, PLANTED)
    const refused = [403, 'unknown_host']
    expect(read).toEqual({ list: refused, create: refused, password: refused, stop: refused, events: 'refused', image: 'EncodingError' })
    expect(await state()).toEqual(before)
    await page.close()
  })
})

describe('the pages of the service itself in Chromium', () => {
  it('may do everything: those of its own origin', async () => {
    const page = await visit(`${service.url}/svc/version`)
    const statuses = await page.evaluate(async (body) => {
      const ask = async (method: string, path: string, content?: string) =>
        (await fetch(path, { method, ...(content !== undefined && { body: content }) })).status
      return [
        await ask('POST', '/svc/pipeline', body),
        await ask('GET', '/svc/pipeline/planted'),
        await ask('DELETE', '/svc/pipeline/planted'),
      ]
    }, PLANTED)
    expect(statuses).toEqual([201, 200, 204])
    await page.close()
  })

  it('may do everything: the API explorer by its own button', async () => {
    const page = await visit(docs)
    const operation = page.locator('#operations-Pipelines-createPipeline')
    await operation.locator('.opblock-summary-control').click()
    await operation.locator('.try-out__btn').click()
    await operation.locator('textarea.body-param__text').fill(PLANTED)
    await operation.locator('button.execute').click()
    await operation.locator('.live-responses-table .response-col_status').filter({ hasText: '201' }).waitFor()
    expect((await service.request('DELETE', '/svc/pipeline/planted')).status).toBe(204)
    await page.close()
    // It draws every operation, which takes seconds on a busy machine.
  }, 90_000)

  it('may do everything: the API explorer by its name', async () => {
    const page = await visit(docs.replace('127.0.0.1', 'localhost'))
    const create = async ([api, body]: [string, string]) => (await fetch(`${api}/svc/pipeline`, { method: 'POST', body })).status
    const api = service.url.replace('127.0.0.1', 'localhost')
    expect(await page.evaluate(create, [api, PLANTED] as [string, string])).toBe(201)
    expect((await service.request('DELETE', '/svc/pipeline/planted')).status).toBe(204)
    await page.close()
  })
})
