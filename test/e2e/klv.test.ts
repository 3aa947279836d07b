import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { followSse, type SseClient } from '../helpers/api/sse-client.ts'
import { childrenOf } from '../helpers/process/processes.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { type RtspSource, startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

let source: RtspSource

beforeAll(async () => {
  source = await startRtspSource()
})
afterAll(async () => {
  await source.stop()
})

const create = async (service: Service, id: string, uri: string, more: Record<string, unknown> = {}) => {
  const answer = await service.request('POST', '/svc/pipeline', { id, mode: 'simple', source: { uri, latency_ms: 50 }, ...more })
  expect({ status: answer.status, message: answer.body.message }).toEqual({ status: 201, message: undefined })
  return answer.body
}

const klvStates = (service: Service, id: string, state: string) =>
  until(
    () => service.request('GET', `/svc/pipeline/${id}`),
    ({ body }) => body.klv.state === state,
  )

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
    const service = await startService()
    const created = await create(service, 'uav', source.url('/klv'))
    expect(created.klv).toEqual({ available: true, state: 'stopped' })
    expect(await service.request('GET', '/svc/pipeline/uav/klv')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })

    const client = await followKlv(service, 'uav')
    expect(await service.request('PUT', '/svc/pipeline/uav/klv/start')).toMatchObject({
      status: 200,
      body: { id: 'uav', klv: { available: true, state: 'playing' }, geolocation: null },
    })
    await expectRun(client, 25)

    const metrics: string = (await service.request('GET', '/svc/metrics')).body
    expect(Number(/^svc_klv_packets_total\{pipeline_id="uav",result="decoded"\} (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThanOrEqual(25)
    expect(metrics).toContain('svc_klv_packets_total{pipeline_id="uav",result="bad_checksum"} 0')

    const stopped = await service.request('PUT', '/svc/pipeline/uav/klv/stop')
    expect(stopped).toMatchObject({ status: 200, body: { klv: { available: true, state: 'stopped' } } })
    expect((await service.request('PUT', '/svc/pipeline/uav/klv/stop')).status).toBe(200)
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
    await service.stop()
  })

  it('is refused with a reason when the pipeline is stopped or the source has none', async () => {
    const service = await startService()
    expect((await create(service, 'plain', source.url('/h264'))).klv).toEqual({ available: false })
    expect(await service.request('PUT', '/svc/pipeline/plain/klv/start')).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', details: { reason: 'no_klv' } },
    })
    await service.request('PUT', '/svc/pipeline/plain/stop')
    expect(await service.request('PUT', '/svc/pipeline/plain/klv/start')).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', details: { reason: 'not_playing' } },
    })
    expect((await service.request('PUT', '/svc/pipeline/plain/klv/stop')).status).toBe(200)
    await service.stop()
  })

  it('updates the geolocation, and one set by hand stays until the next packet', async () => {
    const service = await startService()
    await create(service, 'auto', source.url('/klv'), { klv_config: { auto_extract_geolocation: true } })
    await klvStates(service, 'auto', 'playing')
    const placed = async (is: (place: unknown) => boolean) =>
      (
        await until(
          () => service.request('GET', '/svc/pipeline/auto'),
          ({ body }) => is(body.geolocation),
        )
      ).body.geolocation
    const first = await placed((place) => place !== null)
    expect(Object.keys(first).sort()).toEqual(['altitude', 'heading', 'latitude', 'longitude'])
    expect(Math.abs(first.latitude + 27.6)).toBeLessThan(1)
    await placed((place) => JSON.stringify(place) !== JSON.stringify(first))

    expect((await service.request('PATCH', '/svc/pipeline/auto', { geolocation: null })).body.geolocation).toBeNull()
    await placed((place) => place !== null)

    await service.request('PUT', '/svc/pipeline/auto/klv/stop')
    const set = await service.request('PATCH', '/svc/pipeline/auto', { geolocation: { latitude: 1, longitude: 2 } })
    expect(set.body).toMatchObject({ klv: { state: 'stopped' }, geolocation: { latitude: 1, longitude: 2, altitude: null, heading: null } })
    await service.stop()
  })

  it.each([
    ['child', 'was replaced'],
    ['engine', 'lost its connection to the source'],
  ])('is still decoded after the %s %s', async (reader) => {
    const service = await startService({ env: { SVC_RTSP_READER: reader } })
    await create(service, 'survives', source.url('/klv'))
    await service.request('PUT', '/svc/pipeline/survives/klv/start')
    const client = await followKlv(service, 'survives')
    await expectRun(client, 3)
    const { body } = await service.request('GET', '/svc/pipeline/survives')
    if (reader === 'engine') source.disconnect()
    else for (const child of childrenOf(service.enginePid())) process.kill(child.pid, 'SIGKILL')
    await until(
      () => service.request('GET', '/svc/pipeline/survives'),
      (answer) => answer.body.runtime.restarts > body.runtime.restarts && answer.body.runtime.phase === 'playing',
    )
    expect((await service.request('GET', '/svc/pipeline/survives')).body.klv.state).toBe('playing')
    await expectRun(await followKlv(service, 'survives'), 5)
    await service.request('PUT', '/svc/pipeline/survives/stop')
    expect((await service.request('PUT', '/svc/pipeline/survives/play')).body.klv.state).toBe('stopped')
    await service.stop()
  })

  it('is followed under an id that was deleted and created anew', async () => {
    const service = await startService()
    const auto = { klv_config: { auto_extract_geolocation: true } }
    await create(service, 'again', source.url('/klv'), auto)
    const before = await followKlv(service, 'again')
    await expectRun(before, 3)
    await service.request('PUT', '/svc/pipeline/again/stop')
    expect((await service.request('DELETE', '/svc/pipeline/again')).status).toBe(204)
    expect((await before.rest()).at(-1)?.event).toBe('pipeline_not_found')
    await create(service, 'again', source.url('/klv'), auto)
    await expectRun(await followKlv(service, 'again'), 3)
    await service.stop()
  })

  it('is decoded again after the engine was replaced when it updates the geolocation, and its streams go on', async () => {
    const service = await startService()
    await create(service, 'auto', source.url('/klv'), { klv_config: { auto_extract_geolocation: true } })
    await create(service, 'manual', source.url('/klv'))
    await service.request('PUT', '/svc/pipeline/manual/klv/start')
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
    expect((await klvStates(service, 'auto', 'playing')).body.geolocation).not.toBeNull()
    const manual = await until(
      () => service.request('GET', '/svc/pipeline/manual'),
      ({ body }) => body.state === 'playing',
    )
    expect(manual.body.klv).toEqual({ available: true, state: 'stopped' })
    await service.stop()
  })
})
