import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { followSse, type SseClient } from '../../helpers/api/sse-client.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { type RtspSource, startRtspSource } from '../../helpers/rtsp/source.ts'
import { command, createPipeline, untilView, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

let source: RtspSource

beforeAll(async () => {
  source = await startRtspSource()
})
afterAll(async () => {
  await source.stop()
})

const service = shareService()

const create = (host: Service, id: string, path = '/klv', more: object = {}): Promise<string> =>
  createPipeline(host, id, { source: { uri: source.url(path), latency_ms: 50 }, ...more })
const AUTO = { klv_config: { auto_extract_geolocation: true } }

const followKlv = async (service: Service, id: string): Promise<SseClient> =>
  followSse(await fetch(`${service.url}/svc/pipeline/${id}/klv/events`))

/** Which packet of the source's known track this is, from its latitude. */
const numberOf = ({ values }: { values: Record<string, number> }): number =>
  Math.round(((values.sensor_latitude ?? Number.NaN) + 27.6) * 1e4)

/** The known track of the source, see test/fixtures/rtsp-source.py. Tolerances: half a step of each tag. */
const expectOnTrack = (packet: { values: Record<string, number> }): void => {
  const number = numberOf(packet)
  const { sensor_latitude, sensor_longitude, sensor_true_altitude, platform_heading_angle, uas_datalink_ls_version_number } = packet.values
  expect(Math.abs((sensor_latitude ?? Number.NaN) - (-27.6 + number * 1e-4))).toBeLessThan(90 / 2 ** 31)
  expect(Math.abs((sensor_longitude ?? Number.NaN) - (-48.5 + number * 1e-4))).toBeLessThan(180 / 2 ** 31)
  expect(Math.abs((sensor_true_altitude ?? Number.NaN) - (120 + (number % 100)))).toBeLessThan(19900 / 2 ** 16)
  expect(Math.abs((platform_heading_angle ?? Number.NaN) - ((number * 3) % 360))).toBeLessThan(360 / 2 ** 16)
  expect(uas_datalink_ls_version_number).toBe(19)
}

const expectRun = async (client: SseClient, count: number): Promise<number[]> => {
  const numbers: number[] = []
  while (numbers.length < count) {
    const { data } = await client.nextOf('klv')
    expectOnTrack(data)
    numbers.push(numberOf(data))
  }
  expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0) + at))
  return numbers
}

describe('KLV of a playing pipeline', () => {
  it('is decoded from klv/start to klv/stop: every packet, with the expected values', async () => {
    await create(service, 'uav')
    expect((await viewOf(service, 'uav')).klv).toEqual({ available: true, state: 'stopped' })
    expect(await service.request('GET', '/svc/pipeline/uav/klv')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })

    const client = await followKlv(service, 'uav')
    expect(await command(service, 'uav', 'klv/start')).toMatchObject({
      status: 200,
      body: { id: 'uav', klv: { available: true, state: 'playing' }, geolocation: null },
    })
    await expectRun(client, 25)

    const metrics: string = (await service.request('GET', '/svc/metrics')).body
    expect(Number(/^svc_klv_packets_total\{pipeline_id="uav",result="decoded"\} (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThanOrEqual(25)
    expect(metrics).toContain('svc_klv_packets_total{pipeline_id="uav",result="bad_checksum"} 0')

    const stopped = await command(service, 'uav', 'klv/stop')
    expect(stopped).toMatchObject({ status: 200, body: { klv: { available: true, state: 'stopped' } } })
    expect((await command(service, 'uav', 'klv/stop')).status).toBe(200)
    const last = await service.request('GET', '/svc/pipeline/uav/klv')
    expect(last.body).toMatchObject({ pipeline_id: 'uav', checksum_ok: true, stale: false, items: expect.any(Array) })
    expectOnTrack(last.body)
    const older = await service.request('GET', '/svc/pipeline/uav/klv')
    expect(older.body).toEqual({ ...last.body, age_ms: older.body.age_ms })
    expect(older.body.age_ms).toBeGreaterThanOrEqual(last.body.age_ms)

    const feature = await service.request('GET', '/svc/pipeline/uav/klv?format=geojson')
    expect(feature.headers.get('content-type')).toBe('application/geo+json')
    expect(feature.body).toMatchObject({ type: 'Feature', geometry: { type: 'Point' }, properties: { pipeline_id: 'uav' } })
    expect(feature.body.geometry.coordinates).toEqual([
      last.body.values.sensor_longitude,
      last.body.values.sensor_latitude,
      last.body.values.sensor_true_altitude,
    ])
    // This source sends neither corners nor its field of view.
    expect(await service.request('GET', '/svc/pipeline/uav/klv?format=footprint')).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND', details: { reason: 'no_footprint' } },
    })
  })

  it('is refused with a reason when the pipeline is stopped or the source has none', async () => {
    await create(service, 'plain', '/h264')
    expect((await viewOf(service, 'plain')).klv).toEqual({ available: false })
    expect(await command(service, 'plain', 'klv/start')).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', details: { reason: 'no_klv' } },
    })
    await command(service, 'plain', 'stop')
    expect(await command(service, 'plain', 'klv/start')).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', details: { reason: 'not_playing' } },
    })
    expect((await command(service, 'plain', 'klv/stop')).status).toBe(200)
  })

  it('updates the geolocation, and one set by hand stays until the next packet', async () => {
    await create(service, 'auto', '/klv', AUTO)
    await untilView(service, 'auto', ({ klv }) => klv.state === 'playing')
    const placed = async (is: (place: unknown) => boolean) =>
      (await untilView(service, 'auto', ({ geolocation }) => is(geolocation))).geolocation
    const first = await placed((place) => place !== null)
    expect(Object.keys(first).sort()).toEqual(['altitude', 'heading', 'latitude', 'longitude'])
    expect(Math.abs(first.latitude + 27.6)).toBeLessThan(1)
    await placed((place) => JSON.stringify(place) !== JSON.stringify(first))

    expect((await service.request('PATCH', '/svc/pipeline/auto', { geolocation: null })).body.geolocation).toBeNull()
    await placed((place) => place !== null)

    await command(service, 'auto', 'klv/stop')
    const set = await service.request('PATCH', '/svc/pipeline/auto', { geolocation: { latitude: 1, longitude: 2 } })
    expect(set.body).toMatchObject({ klv: { state: 'stopped' }, geolocation: { latitude: 1, longitude: 2, altitude: null, heading: null } })
  })

  it.each([
    ['the connection to the source was lost', null],
    ['the child that re-encodes was replaced', { codec: 'h264', width: 160, height: 120, quality: 1, bitrate: 500 }],
  ])('is still decoded after %s', async (_what, encoding) => {
    const service = await startService()
    await create(service, 'survives', '/klv', { encoding })
    await command(service, 'survives', 'klv/start')
    const client = await followKlv(service, 'survives')
    await expectRun(client, 3)
    const { restarts } = (await viewOf(service, 'survives')).runtime
    if (encoding === null) source.disconnect()
    else for (const child of childrenOf(service.enginePid())) process.kill(child.pid, 'SIGKILL')
    const view = await untilView(service, 'survives', ({ runtime }) => runtime.restarts > restarts && runtime.phase === 'playing')
    expect(view.klv.state).toBe('playing')
    await expectRun(await followKlv(service, 'survives'), 5)
    await command(service, 'survives', 'stop')
    expect((await command(service, 'survives', 'play')).body.klv.state).toBe('stopped')
  })

  it('is followed under an id that was deleted and created anew', async () => {
    await create(service, 'again', '/klv', AUTO)
    const before = await followKlv(service, 'again')
    await expectRun(before, 3)
    await command(service, 'again', 'stop')
    expect((await service.request('DELETE', '/svc/pipeline/again')).status).toBe(204)
    expect((await before.rest()).at(-1)?.event).toBe('pipeline_not_found')
    await create(service, 'again', '/klv', AUTO)
    await expectRun(await followKlv(service, 'again'), 3)
  })

  it('is decoded again after the engine was replaced when it updates the geolocation, and its streams go on', async () => {
    const service = await startService()
    await create(service, 'auto', '/klv', AUTO)
    await create(service, 'manual')
    await command(service, 'manual', 'klv/start')
    const client = await followKlv(service, 'auto')
    await expectRun(client, 3)
    const killed = service.enginePid()
    process.kill(killed, 'SIGKILL')
    await until(
      () => service.enginePid(),
      (pid) => pid !== killed,
    )
    let { data } = await client.nextOf('klv')
    const before = Date.now()
    while (Date.parse(data.received_at) < before) ({ data } = await client.nextOf('klv'))
    await expectRun(client, 3)
    expect((await untilView(service, 'auto', ({ klv }) => klv.state === 'playing')).geolocation).not.toBeNull()
    expect((await untilView(service, 'manual', ({ state }) => state === 'playing')).klv).toEqual({ available: true, state: 'stopped' })
  })
})
