import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '@libsql/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../helpers/ports.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { changeSettings, command, createPipeline } from '../../helpers/service/pipelines.ts'
import { WEBHOOK_SECRET as secret, startWebhookReceiver, type WebhookReceiver } from '../../helpers/service/webhook-receiver.ts'
import { until } from '../../helpers/until.ts'

const receive = async (options: Parameters<typeof startWebhookReceiver>[0] = {}): Promise<WebhookReceiver> => {
  const receiver = await startWebhookReceiver(options)
  onTestFinished(() => receiver.close())
  return receiver
}

const create = async (service: Service, id: string): Promise<void> => {
  const { status } = await service.request('POST', '/svc/pipeline', { id, on_demand: true, source: { uri: 'test://ball' } })
  expect(status).toBe(201)
}

/** Each change of its position is an event. */
const move = async (service: Service, id: string, longitude: number): Promise<void> => {
  const geolocation = { latitude: 1, longitude, altitude: null, heading: null }
  expect((await service.request('PATCH', `/svc/pipeline/${id}`, { geolocation })).status).toBe(200)
}

const longitudes = (receiver: WebhookReceiver, id: string): readonly number[] =>
  receiver
    .taken()
    .filter(({ data }) => data.id === id && data.geolocation != null)
    .map(({ data }) => data.geolocation.longitude)

const numbers = (from: number, to: number): readonly number[] => Array.from({ length: to - from }, (_, at) => from + at)

describe('webhooks', () => {
  it('deliver each event signed and in order, from any address of a list, and never show a secret', async () => {
    const [one, other] = [await receive(), await receive({ secret: 'twenty-four characters or more' })]
    const service = await startService()
    const url = one.url.replace('://', '://hook%40user:pa55word@')
    await changeSettings(service, {
      webhooks: [
        { url, secret },
        { url: other.url, secret: 'twenty-four characters or more', events: ['pipeline_not_found'] },
      ],
    })
    await create(service, 'gate')
    for (const longitude of numbers(0, 20)) await move(service, 'gate', longitude)
    await service.request('DELETE', '/svc/pipeline/gate')
    await until(
      () => one.taken(),
      (taken) => taken.at(-1)?.type === 'pipeline_not_found',
    )
    await until(
      () => other.arrivals.length,
      (count) => count === 1,
    )
    expect(longitudes(one, 'gate')).toEqual(numbers(0, 20))
    expect(other.arrivals.map(({ type, data }) => [type, data])).toEqual([['pipeline_not_found', { pipeline_id: 'gate' }]])
    expect([...one.arrivals, ...other.arrivals].every(({ isSigned }) => isSigned)).toBe(true)
    const [first] = one.arrivals
    expect(first).toMatchObject({ type: 'pipeline_status', timestamp: expect.stringMatching(/^\d{4}-.*Z$/), data: { id: 'gate' } })
    expect(first?.headers).toMatchObject({ authorization: `Basic ${btoa('hook@user:pa55word')}`, 'content-type': 'application/json' })
    expect(new Set(one.arrivals.map(({ id }) => id)).size).toBe(one.arrivals.length)
    expect(Math.abs(Number(first?.headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(60)
    expect((await service.request('GET', '/svc/metrics')).body).toContain('svc_sse_clients 0')
    await service.stop()
    expect(service.log.join('\n')).not.toMatch(/pa55word|whsec|twenty-four/)
  })

  it('are tried again after failures, hangs and redirects, while others get theirs at once', async () => {
    const [failing, fine] = [await receive(), await receive()]
    const refusals = [500, 307] as const
    failing.react = ({ data }) =>
      data.geolocation?.longitude === 7 ? (refusals[failing.arrivals.filter(({ taken }) => !taken).length] ?? 200) : 200
    const service = await startService()
    await changeSettings(service, { webhooks: [failing, fine].map(({ url }) => ({ url, secret })) })
    for (const id of ['gate', 'yard']) await create(service, id)
    for (const longitude of numbers(5, 10)) await move(service, 'gate', longitude)
    await move(service, 'yard', 1)
    await until(
      () => longitudes(fine, 'gate'),
      (seen) => seen.length === 5,
      1000,
    )
    // Another pipeline does not wait for the one whose event is refused.
    await until(
      () => longitudes(failing, 'yard'),
      (seen) => seen.length === 1,
      1000,
    )
    await until(
      () => longitudes(failing, 'gate'),
      (seen) => seen.length === 5,
    )
    expect(longitudes(failing, 'gate')).toEqual(numbers(5, 10))
    const attempts = failing.arrivals.filter(({ data }) => data.geolocation?.longitude === 7)
    const pauses = attempts.slice(1).map(({ at }, index) => Math.round((at - (attempts[index]?.at ?? 0)) / 1000))
    expect([attempts.map(({ id }) => id).length, new Set(attempts.map(({ id }) => id)).size, pauses]).toEqual([3, 1, [1, 2]])
    expect(service.log.filter((line) => line.includes('webhook_failed'))).toHaveLength(1)
    await service.stop()
  })

  it('wait for a receiver that is away, over kill -9 and a change of its secret, and come in order', async () => {
    const port = await freePort()
    const dataDir = temporaryDataDir()
    let service = await startService({ dataDir })
    await changeSettings(service, {
      webhooks: [{ url: `http://127.0.0.1:${port}/hook`, secret: 'the secret of before, which is replaced' }],
    })
    for (const id of ['gate', 'yard']) await create(service, id)
    for (const longitude of numbers(0, 30)) for (const id of ['gate', 'yard']) await move(service, id, longitude)
    await untilStored(dataDir, 60)
    await service.kill()
    service = await startService({ dataDir })
    for (const longitude of numbers(30, 40)) await move(service, 'gate', longitude)
    const receiver = await receive({ port })
    const { body } = await service.request('GET', '/svc/settings')
    expect(body.webhooks).toEqual([expect.objectContaining({ secret: '***' })])
    await changeSettings(service, { webhooks: [{ url: receiver.url, secret }] })
    await until(
      () => longitudes(receiver, 'gate').at(-1),
      (last) => last === 39,
    )
    // The start says the state of each pipeline once more.
    expect(withoutRepeats(longitudes(receiver, 'gate'))).toEqual(numbers(0, 40))
    await until(
      () => longitudes(receiver, 'yard').at(-1),
      (last) => last === 29,
    )
    expect(withoutRepeats(longitudes(receiver, 'yard'))).toEqual(numbers(0, 30))
    expect(receiver.taken().every(({ isSigned }) => isSigned)).toBe(true)
    await service.stop()
    // Nothing waits any more.
    expect(await stored(dataDir)).toBe(0)
  })

  it('are delivered while their file is locked, and the API answers meanwhile', async () => {
    const receiver = await receive()
    const service = await startService()
    await changeSettings(service, { webhooks: [{ url: receiver.url, secret }] })
    await create(service, 'gate')
    await until(
      () => receiver.taken().length,
      (count) => count > 0,
    )
    const other = createClient({ url: pathToFileURL(join(service.dataDir, 'webhooks.db')).href })
    const lock = await other.transaction('write')
    for (const longitude of numbers(0, 10)) await move(service, 'gate', longitude)
    await until(
      () => longitudes(receiver, 'gate'),
      (seen) => seen.length === 10,
      2000,
    )
    await lock.rollback()
    other.close()
    await service.stop()
  })

  it('get KLV only where they ask for it', async () => {
    const receiver = await receive()
    const service = await startService()
    await changeSettings(service, { webhooks: [{ url: receiver.url, secret, events: ['klv'] }] })
    await createPipeline(service, 'drone', {
      source: { uri: 'test://ball?width=160&height=120&fps=10&klv=1' },
      klv_config: { pass_klv: true },
    })
    expect((await command(service, 'drone', 'klv/start')).status).toBe(200)
    await until(
      () => receiver.taken().length,
      (count) => count > 5,
    )
    expect(receiver.taken().every(({ type, data, isSigned }) => type === 'klv' && data.pipeline_id === 'drone' && isSigned)).toBe(true)
    await service.stop()
  })

  it('begin with a new file where theirs is damaged, and say so', async () => {
    const receiver = await receive()
    const dataDir = temporaryDataDir()
    let service = await startService({ dataDir })
    await changeSettings(service, { webhooks: [{ url: receiver.url, secret }] })
    await service.stop()
    rmSync(join(dataDir, 'webhooks.db-wal'), { force: true })
    writeFileSync(join(dataDir, 'webhooks.db'), 'no database'.repeat(1000))
    service = await startService({ dataDir })
    await create(service, 'gate')
    await until(
      () => receiver.taken().length,
      (count) => count > 0,
    )
    expect(service.log.some((line) => line.includes('webhook_queue_replaced'))).toBe(true)
    await service.stop()
  })
})

const withoutRepeats = (values: readonly number[]): readonly number[] => values.filter((value, at) => value !== values[at - 1])

const stored = async (dataDir: string): Promise<number> => {
  const client = createClient({ url: pathToFileURL(join(dataDir, 'webhooks.db')).href })
  try {
    const { rows } = await client.execute('SELECT count(*) AS count FROM waiting')
    return Number(rows[0]?.count)
  } finally {
    client.close()
  }
}

const untilStored = (dataDir: string, count: number) =>
  until(
    () => stored(dataDir),
    (found) => found >= count,
  )
