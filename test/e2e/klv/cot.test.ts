import { describe, expect, it, onTestFinished } from 'vitest'
import { parseCot } from '../../fixtures/klv/cot.ts'
import { receiveCotByTcp, receiveCotByUdp } from '../../helpers/klv/cot-receivers.ts'
import { startService } from '../../helpers/process/service.ts'
import { changeSettings, createPipeline } from '../../helpers/service/pipelines.ts'
import { until } from '../../helpers/until.ts'

describe('Cursor on Target of a playing pipeline', () => {
  it('is answered as an event that another parser reads, and sent to the receiver of the settings', async () => {
    const service = await startService()
    const video = await createPipeline(service, 'uav', {
      source: { uri: 'test://ball?width=160&height=120&fps=10&klv=1' },
      klv_config: { pass_klv: true, auto_extract_geolocation: true },
    })
    const answer = await until(
      () => fetch(`${service.url}/svc/pipeline/uav/klv?format=cot`),
      ({ status }) => status === 200,
    )
    expect(answer.headers.get('content-type')).toBe('application/xml')
    const answered = parseCot(await answer.text())
    expect(answered.event).toMatchObject({ uid: expect.stringMatching(/^[^/]+\/uav$/), type: 'a-f-A-M-F-Q' })
    expect(Math.abs(Date.parse(answered.event.time ?? '') - Date.now())).toBeLessThan(5000)
    expect(Number(answered.point.lat)).toBeCloseTo(-27.6, 1)
    // The camera of the flight looks at the centre of its circles, to the right of its course.
    const { body: packet } = await service.request('GET', '/svc/pipeline/uav/klv')
    expect(Math.abs(Number(answered.sensor?.azimuth) - ((packet.values.platform_heading_angle + 90) % 360))).toBeLessThan(20)
    expect(answered.video).toEqual({ url: video })

    const [udp, tcp] = [await receiveCotByUdp('udp4', '127.0.0.1'), await receiveCotByTcp()]
    onTestFinished(async () => {
      udp.stop()
      await tcp.stop()
    })
    const sendTo = async (uri: string) => expect((await changeSettings(service, { cot: { uri, interval_ms: 100 } })).cot.uri).toBe(uri)
    await sendTo(`udp://127.0.0.1:${udp.port}`)
    await until(udp.events, (events) => events.length >= 3)
    expect(udp.events()[0]).toMatchObject({ event: { uid: expect.stringMatching(/^[^/]+\/uav$/) }, video: { url: video } })

    await sendTo(`tcp://127.0.0.1:${tcp.port}`)
    await until(tcp.events, (events) => events.length >= 3)
    const metrics: string = (await service.request('GET', '/svc/metrics')).body
    expect(Number(/^svc_cot_events_total\{result="sent"\} (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThanOrEqual(6)
    expect(metrics).toContain('svc_cot_connected 1')

    // A new engine gets the settings, and goes on.
    process.kill(service.enginePid(), 'SIGKILL')
    const before = tcp.events().length
    await until(tcp.events, (events) => events.length >= before + 3)
  }, 60_000)
})
