import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useChromium } from '../helpers/browser/dashboard.ts'
import { runCommand } from '../helpers/process/command.ts'
import { startService } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const chromium = useChromium()
const DAY = 86_400_000

/** Answers as a host whose clock is a day ahead. */
const server = createServer((request, response) => {
  const now = Date.now() + DAY
  response.setHeader('date', new Date(now).toUTCString())
  response.setHeader('content-type', 'application/json')
  const runtime = {
    phase: 'playing',
    desired: 'playing',
    since: new Date(now - 20_000).toISOString(),
    fps: 25,
    bitrate_kbps: 900,
    readers: 0,
  }
  const gate = {
    id: 'gate',
    mode: 'simple',
    state: 'playing',
    source: { uri: 'test://ball' },
    output: { uri: 'rtsp://0.0.0.0:8554/gate' },
    runtime,
  }
  response.end(JSON.stringify(request.url === '/svc/pipeline' ? [gate] : gate))
})
let env: Readonly<Record<string, string>>

beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  env = { SVC_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, NO_COLOR: '1' }
})

afterAll(() => void server.close())

describe('a service whose clock is not the one here', () => {
  it('is shown with its own time by the commands', async () => {
    expect((await runCommand(['ls'], { env })).stdout).toMatch(/^gate .* (?:19|2\d) ?s /m)
    expect((await runCommand(['get', 'gate'], { env })).stdout).toMatch(/runtime\.since .*\((?:19|2\d) ?s ago\)/)
  })

  it('is shown with its own time by the dashboard', async () => {
    const service = await startService()
    const body = { id: 'gate', mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=5' } }
    expect((await service.request('POST', '/svc/pipeline', body)).status).toBe(201)
    const { page, expectQuiet } = await chromium.open({
      before: () => {
        const real = Date.now
        Date.now = () => real() + 86_400_000
      },
    })
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/gate`)
    const lives = page.locator('.facts > div').filter({ hasText: 'Live for' })
    const text = await until(
      () => lives.textContent(),
      (found) => found?.includes('1 d') === false && found?.includes('24 h') === false,
    )
    expect(text).toMatch(/^Live for\d+ s$/)
    expectQuiet()
    await service.stop()
  }, 60_000)
})
