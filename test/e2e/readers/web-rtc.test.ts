import { createSocket } from 'node:dgram'
import { expect, it } from 'vitest'
import { WEB_RTC_ATTACKS } from '../../helpers/attacks/web-rtc-attacks.ts'
import { launchChromium } from '../../helpers/browser/chromium.ts'
import { watchByWebRtc } from '../../helpers/browser/whep.ts'
import { playByAiortc } from '../../helpers/media/aiortc-player.ts'
import { startService } from '../../helpers/process/service.ts'
import { untilReaders, untilView } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const service = shareService()

/** A page of the service. */
const openPage = async () => {
  const browser = await launchChromium({ whole: true })
  const page = await browser.newPage()
  await page.goto(`${service.url}/svc/healthz`)
  return { page, [Symbol.asyncDispose]: () => browser.close() }
}

const create = async (id: string, fields: object): Promise<void> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, mode: 'simple', ...fields })
  expect([status, body]).toEqual([201, expect.anything()])
}

const whepOf = (id: string): string => `${service.url}/svc/pipeline/${id}/whep`

const FLOOD_MS = 500

const readers = async (id: string): Promise<number> => (await service.request('GET', `/svc/pipeline/${id}`)).body.runtime.readers

it('Chromium plays pictures and sound by WebRTC, counts as a reader, and is none after it has ended its session', async () => {
  await create('gate', { source: { uri: 'test://ball?width=320&height=240&fps=30&audio=1' }, audio: 'opus' })
  await using browser = await openPage()
  const watched = await watchByWebRtc(browser.page, 'gate', { stay: true })
  expect(watched).toMatchObject({
    status: 201,
    size: [320, 240],
    location: expect.stringMatching(/^\/svc\/pipeline\/gate\/whep\/[0-9a-f-]{36}$/),
  })
  expect(watched.shown.length).toBeGreaterThan(5)
  expect(watched.soundSamples).toBeGreaterThan(1000)
  expect(await readers('gate')).toBe(1)

  const session = watched.location ?? ''
  const patch = (tag: string | null, text: string) =>
    service.request('PATCH', session, text, { 'content-type': 'application/trickle-ice-sdpfrag', ...(tag !== null && { 'if-match': tag }) })
  const ufrag = 'a=ice-ufrag:other'
  expect((await patch(watched.etag, 'a=candidate:1 1 UDP 1 127.0.0.1 9 typ host')).status).toBe(204)
  expect([
    (await patch(watched.etag, ufrag)).status,
    (await patch('"other"', 'a=mid:0')).status,
    (await patch(null, 'a=mid:0')).status,
  ]).toEqual([422, 412, 428])

  expect((await service.request('DELETE', session)).status).toBe(200)
  expect((await service.request('DELETE', session)).status).toBe(404)
  expect(await readers('gate')).toBe(0)
})

it('each KLV packet comes with the RTP time of its frame', async () => {
  const source = { uri: 'test://ball?width=320&height=240&fps=25&klv=1' }
  await create('flight', { source, klv_config: { pass_klv: true } })
  await using browser = await openPage()
  const { klv, shown } = await watchByWebRtc(browser.page, 'flight', { klv: 20 })
  // The key of a local set of MISB ST 0601.
  for (const [, packet] of klv) expect(packet).toMatch(/^060e2b34020b01010e01030101000000/)
  // Pictures come each 3,600 ticks, after those of the cached GOP; a page is not told of each.
  const last = shown.at(-1) ?? 0
  const live = klv.slice(-10).map(([time]) => time)
  expect(live.map((time) => Math.abs(time - last) % 3600)).toEqual(live.map(() => 0))
  expect(live.some((time) => shown.includes(time))).toBe(true)
})

it('aiortc, another player, gets pictures, sound, and KLV with the times of its frames', async () => {
  const source = { uri: 'test://ball?width=320&height=240&fps=25&klv=1&audio=1' }
  await create('yard', { source, audio: 'opus', klv_config: { pass_klv: true } })
  // What encodes the sound starts after the picture.
  await untilView(service, 'yard', ({ runtime }) => runtime.audio?.carried === true)
  const { frames, klv, sound } = await playByAiortc(whepOf('yard'), { frames: 40, klv: 20, sound: 20 })
  expect([frames.at(-1)?.slice(2), sound >= 20]).toEqual([[320, 240], true])
  const times = frames.map(([time]) => time)
  const [first = 0, last = 0] = [times[0], times.at(-1)]
  const between = klv.filter(([time]) => (time - first) >>> 0 <= (last - first) >>> 0)
  expect(between.length).toBeGreaterThan(10)
  // On a busy machine the player does not decode every picture; `npm run test:long klv-frames` compares each.
  expect(between.filter(([time]) => times.includes(time)).length).toBeGreaterThan(between.length / 2)
})

// Players that flood are those of `npm run test:long web-rtc-attacks`: here their library lost its transport now and then.
it('a flood at its port and garbage in a session harm no other player', async () => {
  await create('wall', { source: { uri: 'test://ball?width=320&height=240&fps=25&klv=1' }, klv_config: { pass_klv: true } })
  const target = { whep: whepOf('wall'), host: '127.0.0.1', port: service.webRtcPort }
  const engine = service.enginePid()
  const watched = playByAiortc(target.whep, { frames: 100 })
  const floods = ['STUN of a session with a wrong password', 'garbage in place of DTLS and SRTP']
  for (const name of floods) expect(await WEB_RTC_ATTACKS[name]?.(target, FLOOD_MS)).toBeGreaterThan(0)
  expect((await watched).frames.length).toBeGreaterThanOrEqual(100)
  expect(service.enginePid()).toBe(engine)
  await untilReaders(service, 'wall', 0)
})

/** An offer to take H.264, of a player that never connects. */
const OFFER = [
  ...['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 't=0 0', 'a=group:BUNDLE 0', 'm=video 9 UDP/TLS/RTP/SAVPF 96', 'c=IN IP4 0.0.0.0'],
  ...['a=mid:0', 'a=recvonly', 'a=rtcp-mux', 'a=rtpmap:96 H264/90000', 'a=fmtp:96 packetization-mode=1;profile-level-id=42e01f'],
  ...[
    'a=ice-ufrag:abcd',
    'a=ice-pwd:abcdefghijklmnopqrstuvwx',
    `a=fingerprint:sha-256 ${Array(32).fill('AB').join(':')}`,
    'a=setup:actpass',
  ],
  '',
].join('\r\n')

it('sessions come and go while children that outlive them are started, and one port serves them all', async () => {
  await create('hall', { source: { uri: 'test://ball?width=320&height=240&fps=25' } })
  const engine = service.enginePid()
  for (const child of ['lobby', 'stairs']) {
    const begun = await service.request('POST', '/svc/pipeline/hall/whep', OFFER, { 'content-type': 'application/sdp' })
    expect(begun.status).toBe(201)
    await create(child, { source: { uri: 'test://ball?width=320&height=240&fps=25' } })
    expect((await service.request('GET', '/svc/pipeline/hall/snapshot')).status).toBe(200)
    expect((await service.request('DELETE', begun.headers.get('location') ?? '')).status).toBe(200)
  }
  expect((await service.request('POST', '/svc/pipeline/hall/whep', OFFER, { 'content-type': 'application/sdp' })).status).toBe(201)
  expect(service.enginePid()).toBe(engine)
})

it('a port that another program has is reported, harms nothing, and is taken when it is free', async () => {
  const other = createSocket('udp4')
  await new Promise<void>((resolve) => other.bind(0, '0.0.0.0', resolve))
  const { request, enginePid, stop } = await startService({ env: { SVC_WEBRTC_PORT: String(other.address().port) } })
  await request('POST', '/svc/pipeline', { id: 'hall', source: { uri: 'test://ball?width=320&height=240&fps=25' } })
  const engine = enginePid()
  const begin = () => request('POST', '/svc/pipeline/hall/whep', OFFER, { 'content-type': 'application/sdp' })
  expect(await begin()).toMatchObject({ status: 503, body: { details: { reason: 'webrtc_port' } } })
  other.close()
  expect((await begin()).status).toBe(201)
  expect(enginePid()).toBe(engine)
  await stop()
})

it('an offer that waits for nothing starts no pipeline, and is refused until there is video', async () => {
  await create('porch', { source: { uri: 'test://ball?width=320&height=240&fps=25' }, on_demand: true })
  const begin = (wait: number) =>
    service.request('POST', `/svc/pipeline/porch/whep?wait=${wait}`, OFFER, { 'content-type': 'application/sdp' })
  expect(await begin(0)).toMatchObject({ status: 409, body: { details: { reason: 'not_playing' } } })
  expect((await service.request('GET', '/svc/pipeline/porch')).body.runtime.phase).toBe('idle')
  expect([(await begin(1)).status, (await begin(0)).status]).toEqual([201, 201])
})

it('an offer that cannot be served is told what would be needed', async () => {
  const launch = (encoder: string) => `videotestsrc is-live=true ! video/x-raw,format=I420,width=320,height=240 ! ${encoder}`
  const h265 = launch('x265enc tune=zerolatency speed-preset=ultrafast key-int-max=15 ! rtph265pay name=pay0')
  const reordered = launch(
    'x264enc bframes=2 b-adapt=false key-int-max=15 speed-preset=ultrafast ! video/x-h264,profile=main ! rtph264pay name=pay0',
  )
  await Promise.all([
    create('h265', { mode: 'advanced', raw_pipeline: h265 }),
    create('reordered', { mode: 'advanced', raw_pipeline: reordered }),
    create('idle', { source: { uri: 'test://ball' } }),
  ])
  await service.request('PUT', '/svc/pipeline/idle/stop')
  await using browser = await openPage()
  const refusal = async (id: string) => {
    const { status, text } = await watchByWebRtc(browser.page, id)
    return { status, ...JSON.parse(text) }
  }
  await expect
    .poll(() => refusal('reordered'))
    .toMatchObject({ status: 406, details: { reason: 'b_frames' }, message: expect.stringContaining('encoding') })
  expect(await refusal('h265')).toMatchObject({
    status: 406,
    details: { reason: 'codec' },
    message: expect.stringContaining('encoding.codec'),
  })
  expect(await refusal('idle')).toMatchObject({ status: 409, details: { reason: 'not_playing' } })
  expect(await refusal('nobody')).toMatchObject({ status: 404 })
})
