import { readFileSync } from 'node:fs'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AnyCall, JpegAnswer } from '../../../lib/engine/call.ts'
import { createEngineCaller } from '../../../lib/engine/caller.ts'
import { createEngineClient } from '../../../lib/engine/client.ts'
import { ENGINE_PROTOCOL, type EngineClient, PROTOCOL, type Protocol } from '../../../lib/engine/protocol.ts'
import type { PipelineConfig } from '../../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS } from '../../../lib/schema/settings.ts'
import { segmentPlace } from '../../../lib/segments/segment-name.ts'
import type { RecordedSpan } from '../../../lib/segments/spans.ts'
import { forEngine } from '../../../lib/settings/settings.ts'
import { until } from '../../helpers/until.ts'

/** An engine whose host has a camera. */
export interface ContractEngine {
  readonly url: string
  readonly token: string
  /** Makes a KLV packet of a pipeline come, when none comes by itself. */
  readonly sendKlv?: (id: string) => void
  /** Makes a screenshot file of a pipeline be listed, when none comes by itself. */
  readonly addScreenshot?: (id: string) => void
  /** Makes a recording of a pipeline be listed, when none comes by itself. */
  readonly addRecording?: (id: string) => void
  close(): Promise<void> | void
}

/** A source with KLV metadata. */
export const config = (id: string): PipelineConfig => ({
  id,
  mode: 'simple',
  on_demand: false,
  source: { uri: 'test://ball?width=160&height=120&fps=15&klv=1', latency_ms: 200 },
  encoding: null,
  output: null,
  klv_config: { pass_klv: true, auto_extract_geolocation: false, synchronous: false },
  audio: 'off',
  audio_bitrate: null,
  push: [],
  ephemeral: false,
})

const ID = 'contract'
const UNKNOWN = 'nobody'
const UNKNOWN_FILE = 'nobody_20261120T100000000Z.jpg'
/** Of Chromium. */
const OFFER = readFileSync(new URL('../../fixtures/webrtc/chromium-offer.sdp', import.meta.url), 'utf8')
const PASSWORD = 'correct horse'
const SCHEDULE = { interval_seconds: 1, quality: 80, geolocation: null }

interface Given extends ContractEngine {
  readonly client: EngineClient
}

const END = Date.parse('9999-01-01T00:00:00Z')
const ALL_TIMES = { from: 0, to: END, before: END, limit: 1000 }

/** A span of the recorded pipeline. */
const aSpan = async ({ client, addRecording }: Given): Promise<RecordedSpan> => {
  const recorded = async () => (await client.recordings.list({ ...ALL_TIMES, pipeline_id: ID }))[0]
  addRecording?.(ID)
  if ((await recorded()) === undefined) {
    await client.recordings.start(ID)
    await until(
      () => client.recordings.start(ID),
      ({ recording }) => recording.state === 'recording',
    )
    await client.recordings.stop(ID)
  }
  const span = await recorded()
  if (span === undefined) throw new Error('nothing was recorded')
  return span
}

/** A recorded moment with KLV: what was recorded first may be shorter than the pause between two packets. */
const aMomentWithKlv = async (given: Given): Promise<number> => {
  const { recordings } = given.client
  const found = async (): Promise<readonly number[]> => {
    const at = (await aSpan(given)).to - 1
    return recordings.klv(ID, { at }).then(
      () => [at],
      () => [],
    )
  }
  await aSpan(given)
  await recordings.start(ID)
  try {
    const [at = Number.NaN] = await until(found, (moments) => moments.length === 1, 30_000)
    return at
  } finally {
    await recordings.stop(ID)
  }
}

/** One check per row of the protocol: a row without one does not compile. Answers that are not as the row says make the client throw. */
const CHECKS: { readonly [Part in keyof Protocol]: { readonly [Name in keyof Protocol[Part]]: (given: Given) => Promise<void> } } = {
  engine: {
    status: async ({ client }) => expect(await client.engine.status()).toMatchObject({ protocol: ENGINE_PROTOCOL, configured: true }),
    configure: async ({ client }) => expect(await client.engine.configure(forEngine(DEFAULT_SETTINGS))).toBeUndefined(),
    check: async ({ client }) => {
      expect(await client.engine.check(config('checked'))).toEqual({
        launch: expect.stringContaining('gst-launch-1.0'),
        publishes: true,
        codecs: [],
      })
    },
    listRunning: async ({ client }) => expect((await client.engine.listRunning()).map(({ id }) => id)).toContain(ID),
    list: async ({ client }) => {
      const views = await client.engine.list()
      expect(views.map(({ id }) => id)).toContain(ID)
      // The client checks only a part of each.
      for (const view of views) v.parse(PROTOCOL.engine.view.answer, view)
    },
    view: async ({ client }) => expect(await client.engine.view(ID)).toMatchObject({ id: ID, state: 'playing' }),
    put: async ({ client }) => {
      const stored = await client.engine.put(config('put'), { create: true })
      expect(stored).toEqual({ ...config('put'), output: { uri: expect.stringMatching(/^rtsp:\/\/0\.0\.0\.0:\d+\/put$/) } })
      await expect(client.engine.put(config('put'), { create: true })).rejects.toMatchObject({ code: 'CONFLICT' })
      expect(await client.engine.put(stored, { create: false })).toEqual(stored)
      // An engine that was started anew may not have it yet.
      expect((await client.engine.put(config('put-anew'), { create: false })).output).not.toBeNull()
    },
    remove: async ({ client }) => {
      await client.engine.put(config('removed'), { create: true })
      await client.engine.play('removed', { wait: true })
      await expect(client.engine.remove('removed', { force: false })).rejects.toMatchObject({ code: 'CONFLICT' })
      expect(await client.engine.remove('removed', { force: true })).toBeUndefined()
      await expect(client.engine.view('removed')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    },
    play: async ({ client }) => expect(await client.engine.play(ID, { wait: false })).toMatchObject({ id: ID, state: 'playing' }),
    stop: async ({ client }) => {
      expect(await client.engine.stop(ID)).toMatchObject({ id: ID, state: 'ready', runtime: { desired: 'ready' } })
      await client.engine.play(ID, { wait: true })
    },
    log: async ({ client }) => expect(Array.isArray(await client.engine.log(ID))).toBe(true),
    logs: async ({ client }) => {
      expect(Array.isArray(await client.engine.logs({ limit: 10 }))).toBe(true)
      expect(await client.engine.logs({ search: 'is in no line', stream: 'engine', limit: 10 })).toEqual([])
    },
    history: async ({ client }) => expect(Array.isArray(await client.engine.history(ID))).toBe(true),
    events: async ({ client }) =>
      expect(await firstOf(client.engine.events, notHeartbeat)).toMatchObject({ type: 'begin', revision: expect.any(Number) }),
  },
  license: {
    set: async ({ client }) => {
      const license = { licensee: 'Contract', codecs: ['h264' as const], max_streams: null, expires: null }
      expect(await client.license.set({ status: 'valid', license })).toBeUndefined()
      expect(await client.license.set({ status: 'unlimited' })).toBeUndefined()
    },
  },
  screenshots: {
    start: async ({ client }) => {
      expect((await client.screenshots.start(ID, SCHEDULE, { resume: false })).screenshots).toEqual({
        state: 'playing',
        interval_seconds: 1,
        quality: 80,
      })
    },
    stop: async ({ client }) => expect((await client.screenshots.stop(ID)).screenshots.state).toBe('stopped'),
    locate: async ({ client }) => {
      const geolocation = { latitude: 48, longitude: 11, altitude: null, heading: null }
      expect(await client.screenshots.locate(ID, { geolocation })).toBeUndefined()
    },
    snapshot: async ({ client }) => {
      const { headers, body } = await client.screenshots.snapshot(ID, { quality: 50, width: 64 })
      await expectJpeg(body)
      expect(Number(headers.get('x-age-ms'))).toBeGreaterThanOrEqual(0)
      expect(headers.get('etag')).toMatch(/^".+"$/)
    },
    list: async (given) => {
      const file = await aFile(given)
      expect((await given.client.screenshots.list({ limit: 1000 })).map(({ file }) => file)).toContain(file.file)
      const before = Date.parse(file.created_at)
      const older = await given.client.screenshots.list({ pipeline_id: ID, before, limit: 1000 })
      expect(older.map(({ file }) => file)).not.toContain(file.file)
    },
    read: async (given) => {
      const { headers, body } = await given.client.screenshots.read((await aFile(given)).file)
      await expectJpeg(body)
      for (const name of ['etag', 'last-modified', 'content-length', 'x-created-at']) expect(headers.get(name), name).not.toBeNull()
    },
    remove: async (given) => {
      const { file } = await aFile(given)
      expect(await given.client.screenshots.remove(file)).toBeUndefined()
      await expect(given.client.screenshots.read(file)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    },
    removeOf: async (given) => {
      await aFile(given)
      expect((await given.client.screenshots.removeOf({ pipeline_id: ID })).deleted).toBeGreaterThan(0)
      expect(await given.client.screenshots.removeOf({ pipeline_id: UNKNOWN })).toEqual({ deleted: 0 })
    },
  },
  recordings: {
    start: async ({ client }) => expect((await client.recordings.start(ID)).recording.state).toMatch(/^(waiting|recording)$/),
    stop: async ({ client }) => expect((await client.recordings.stop(ID)).recording.state).toBe('stopped'),
    list: async (given) => {
      const span = await aSpan(given)
      expect(span).toMatchObject({ pipeline_id: ID, bytes: expect.any(Number), tracks: expect.arrayContaining(['h264']) })
      expect(await given.client.recordings.list({ ...ALL_TIMES, pipeline_id: UNKNOWN })).toEqual([])
    },
    removeBefore: async ({ client }) =>
      expect(await client.recordings.removeBefore({ pipeline_id: UNKNOWN, before: END })).toEqual({ deleted: 0, bytes: 0 }),
    key: async ({ client }) => expect(await client.recordings.key()).toMatch(/^-----BEGIN PUBLIC KEY-----\n/),
    range: async (given) => {
      const { from, to } = await aSpan(given)
      const { signal } = new AbortController()
      const { status, headers, body } = await given.client.recordings.range(ID, { from, to, range: 'bytes=0-0' }, signal)
      expect([status, headers.get('content-length')]).toEqual([206, '1'])
      expect(headers.get('content-range')).toMatch(/^bytes 0-0\/\d+$/)
      expect(await new Response(body).bytes()).toEqual(Uint8Array.of(0x47))
      const unknown = given.client.recordings.range(UNKNOWN, { from, to }, signal)
      await expect(unknown).rejects.toMatchObject({ code: 'NOT_FOUND', details: { reason: 'no_recording' } })
    },
    movie: async (given) => {
      const { from, to } = await aSpan(given)
      const answer = await given.client.recordings.movie(ID, { from, to, range: 'bytes=4-7' }, new AbortController().signal)
      expect([answer.status, await new Response(answer.body).text()]).toEqual([206, 'ftyp'])
    },
    file: async (given) => {
      const { from } = await aSpan(given)
      const { status, headers, body } = await given.client.recordings.file(ID, segmentPlace(from).name, {}, new AbortController().signal)
      expect([status, (await new Response(body).bytes()).length]).toEqual([200, Number(headers.get('content-length'))])
    },
    playlist: async (given) => {
      const { from, to } = await aSpan(given)
      expect(await given.client.recordings.playlist(ID, { from, to })).toMatch(/^#EXTM3U\n(.*\n)*#EXT-X-ENDLIST\n$/)
    },
    picture: async (given) => {
      const { from } = await aSpan(given)
      await expectJpeg((await given.client.recordings.picture(ID, { at: from })).body)
    },
    klv: async (given) => {
      const at = await aMomentWithKlv(given)
      expect(await given.client.recordings.klv(ID, { at })).toMatchObject({ pipeline_id: ID, checksum_ok: true })
      await expect(given.client.recordings.klv(UNKNOWN, { at })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    },
    footprint: async (given) => {
      const at = await aMomentWithKlv(given)
      expect(await given.client.recordings.footprint(ID, { at })).toMatchObject({ geometry: { type: 'Polygon' } })
    },
  },
  live: {
    video: async ({ client }) => {
      // The kind of the first record.
      expect(await firstByte((signal) => client.live.video(ID, { audio: '0', klv: '0' }, signal))).toBe(1)
      await expect(client.live.video(UNKNOWN, { audio: '0', klv: '0' }, new AbortController().signal)).rejects.toMatchObject({
        code: 'NOT_FOUND',
      })
    },
    openSession: async ({ client }) => {
      const { answer, session } = await client.live.openSession(ID, { offer: OFFER, wait: '1' })
      expect(answer).toMatch(/^v=0\r\n/)
      await client.live.closeSession(ID, session)
      await expect(client.live.openSession(UNKNOWN, { offer: OFFER, wait: '1' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    },
    addCandidates: async ({ client }) => {
      const { etag, session } = await client.live.openSession(ID, { offer: OFFER, wait: '1' })
      await client.live.addCandidates(ID, session, { fragment: 'a=mid:0', if_match: etag })
      const withoutTag = client.live.addCandidates(ID, session, { fragment: 'a=mid:0', if_match: null })
      await expect(withoutTag).rejects.toMatchObject({ code: 'PRECONDITION_REQUIRED' })
      await client.live.closeSession(ID, session)
    },
    closeSession: async ({ client }) => {
      const { session } = await client.live.openSession(ID, { offer: OFFER, wait: '1' })
      await client.live.closeSession(ID, session)
      await expect(client.live.closeSession(ID, session)).rejects.toMatchObject({ code: 'NOT_FOUND', details: { reason: 'no_session' } })
    },
    // The sync byte of a transport packet.
    ts: async ({ client }) => expect(await firstByte((signal) => client.live.ts(ID, { start: 'key' }, signal))).toBe(0x47),
    playlist: async ({ client }) =>
      expect(await client.live.playlist(ID, { client: '10.0.0.9' })).toMatch(/^#EXTM3U\n(.*\n)*live\/\d+\.ts\n$/),
    segment: async ({ client }) => {
      const { signal } = new AbortController()
      const name = /live\/(\d+\.ts)/.exec(await client.live.playlist(ID, { client: '10.0.0.9' }))?.[1] ?? ''
      const { status, body } = await client.live.segment(ID, name, { client: '10.0.0.9', range: 'bytes=0-0' }, signal)
      expect([status, ...(await new Response(body).bytes())]).toEqual([206, 0x47])
      const gone = client.live.segment(ID, 'x.ts', { client: '10.0.0.9' }, signal)
      await expect(gone).rejects.toMatchObject({ code: 'NOT_FOUND', details: { reason: 'no_segment' } })
    },
  },
  klv: {
    start: async (given) => expect((await startKlv(given)).klv).toEqual({ available: true, state: 'playing' }),
    stop: async (given) => {
      await startKlv(given)
      expect((await given.client.klv.stop(ID)).klv).toEqual({ available: true, state: 'stopped' })
    },
    latest: async (given) => expect(await afterKlv(given, (klv) => klv.latest(ID))).toMatchObject({ pipeline_id: ID, checksum_ok: true }),
    latestFeature: async (given) => expect(await afterKlv(given, (klv) => klv.latestFeature(ID))).toMatchObject({ type: 'Feature' }),
    latestCot: async (given) => {
      const event = await afterKlv(given, (klv) => klv.latestCot(ID, { host: 'video.example.org' }))
      expect(event).toMatch(/^<\?xml .*<event .*uid="[^"]+\/contract".*video\.example\.org.*<\/event>$/s)
    },
    latestFootprint: async (given) => {
      const footprint = await afterKlv(given, (klv) => klv.latestFootprint(ID))
      expect(footprint).toMatchObject({ type: 'Feature', geometry: { type: 'Polygon' }, properties: { pipeline_id: ID } })
    },
    events: async (given) => {
      await startKlv(given)
      const open = (signal: AbortSignal) => given.client.klv.events(ID, signal)
      const packet = await firstOf(open, (event) => {
        if (event.type === 'heartbeat') given.sendKlv?.(ID)
        return event.type === 'klv'
      })
      expect(packet).toMatchObject({ type: 'klv', id: ID, packet: { pipeline_id: ID } })
    },
  },
  cameras: {
    list: async ({ client }) => expect(await client.cameras.list()).toHaveLength(1),
    capabilities: async ({ client }) => {
      const [camera] = await client.cameras.list()
      const { formats } = await client.cameras.capabilities({ path: camera?.device_path ?? '' })
      expect(formats).toHaveLength(camera?.formats ?? 0)
      await expect(client.cameras.capabilities({ path: '/dev/video99' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    },
    search: async ({ client }) => {
      // A host without a network answers with the reason.
      const found = await client.cameras.search({ seconds: 1 }).catch((error: unknown) => error)
      expect(found).toSatisfy((value) => Array.isArray(value) || value.details?.reason === 'no_network')
    },
    streams: async ({ client }) => {
      const streams = client.cameras.streams({ address: 'http://127.0.0.1:1/', user: '', password: '' })
      await expect(streams).rejects.toMatchObject({
        code: 'ENGINE_ERROR',
        details: { reason: expect.any(String), cause: expect.any(String) },
      })
    },
    events: async ({ client }) => {
      const cameras = await client.cameras.list()
      expect(await firstOf(client.cameras.events, notHeartbeat)).toEqual({ type: 'cameras', cameras })
    },
  },
  passwords: {
    hash: async ({ client }) => expect((await client.passwords.hash({ password: PASSWORD })).hash).toMatch(/^\$argon2id\$/),
    verify: async ({ client }) => {
      const { hash } = await client.passwords.hash({ password: PASSWORD })
      expect(await client.passwords.verify({ password: PASSWORD, hash })).toEqual({ matches: true })
      expect(await client.passwords.verify({ password: 'wrong', hash })).toEqual({ matches: false })
    },
  },
  metrics: {
    read: async ({ client }) => expect(await client.metrics.read()).toMatch(/^# /),
  },
}

/** Bodies that the rows accept, for a pipeline that the engine does not have. */
/** Of calls that need one. */
const QUERIES: Readonly<Record<string, string>> = {
  'live.playlist': '?client=10.0.0.9',
  'live.segment': '?client=10.0.0.9',
  'recordings.range': '?from=0&to=1',
  'recordings.movie': '?from=0&to=1',
  'recordings.playlist': '?from=0&to=1',
  'recordings.picture': '?at=0',
  'recordings.klv': '?at=0',
  'recordings.footprint': '?at=0',
}

const BODIES: Readonly<Record<string, unknown>> = {
  'screenshots.start': SCHEDULE,
  'screenshots.locate': { geolocation: null },
  'live.openSession': { offer: OFFER },
  'live.addCandidates': { fragment: 'a=mid:0', if_match: '*' },
}

const ROWS = Object.entries(PROTOCOL).flatMap(([part, calls]) =>
  Object.entries(calls).map(([name, call]): readonly [string, AnyCall] => [`${part}.${name}`, call]),
)
const pathOf = ({ path }: AnyCall, id = ID): string => path.replace(':id', id).replace(':file', UNKNOWN_FILE).replace(':session', UNKNOWN)
const withQuery = (call: AnyCall, query: string): string => `${pathOf(call)}${call.path.includes('?') ? '&' : '?'}${query}`

/** What every engine does with the calls of the protocol. The engine lives as long as the test file. */
export const engineContract = (start: () => Promise<ContractEngine>): void => {
  let engine: ContractEngine
  let client: EngineClient

  beforeAll(async () => {
    engine = await start()
    client = createEngineClient(createEngineCaller({ address: () => engine }))
    await client.engine.configure(forEngine(DEFAULT_SETTINGS))
    await client.engine.put(config(ID), { create: true })
    await client.engine.play(ID, { wait: true })
  })

  afterAll(() => engine.close())

  /** A request that no client of ours would send. */
  const send = async (method: string, path: string, body?: string, token = engine.token) => {
    const response = await fetch(`${engine.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body !== undefined && { body }),
    })
    return { status: response.status, code: ((await response.json()) as { readonly code?: string }).code }
  }

  describe.each(Object.entries(CHECKS))('%s', (_part, checks) => {
    it.each(Object.entries(checks))('answers %s', async (_name, check: (given: Given) => Promise<void>) => check({ ...engine, client }))
  })

  describe('a request', () => {
    it.each(ROWS.filter(([name, { path }]) => path.includes(':') && name !== 'engine.put'))(
      'for something unknown is NOT_FOUND: %s',
      async (name, call) => {
        const body = BODIES[name]
        const answer = await send(
          call.method,
          `${pathOf(call, UNKNOWN)}${QUERIES[name] ?? ''}`,
          body === undefined ? undefined : JSON.stringify(body),
        )
        expect(answer).toEqual({ status: 404, code: 'NOT_FOUND' })
      },
    )

    it.each(ROWS.filter(([, { body }]) => body !== undefined))('with a wrong body is a VALIDATION_ERROR: %s', async (_name, call) => {
      for (const body of ['{"unknown":true}', '[]', 'null', 'no JSON', '']) {
        expect([body, await send(call.method, pathOf(call), body)]).toEqual([body, { status: 400, code: 'VALIDATION_ERROR' }])
      }
    })

    it.each(ROWS.filter(([, { query }]) => query !== undefined))('with a wrong query is a VALIDATION_ERROR: %s', async (name, call) => {
      const body = name === 'engine.put' ? config(ID) : BODIES[name]
      const answer = await send(call.method, withQuery(call, 'unknown=1'), body === undefined ? undefined : JSON.stringify(body))
      expect(answer).toEqual({ status: 400, code: 'VALIDATION_ERROR' })
    })

    it.each(ROWS)('without the secret is UNAUTHORIZED: %s', async (_name, call) => {
      for (const token of ['', 'wrong', `${engine.token}x`]) {
        expect(await send(call.method, pathOf(call), undefined, token)).toEqual({ status: 401, code: 'UNAUTHORIZED' })
      }
    })

    it('to put a pipeline under the id of another is a VALIDATION_ERROR', async () => {
      const answer = await send('PUT', '/pipelines/one?create', JSON.stringify(config('another')))
      expect(answer).toEqual({ status: 400, code: 'VALIDATION_ERROR' })
    })

    it.each([
      ['GET', '/nothing'],
      ['DELETE', '/status'],
      ['GET', `/pipelines/${ID}/nothing`],
      ['GET', '/pipelines/%ff'],
    ])('that is no call of the protocol is NOT_FOUND: %s %s', async (method, path) => {
      expect(await send(method, path)).toEqual({ status: 404, code: 'NOT_FOUND' })
    })
  })
}

const notHeartbeat = ({ type }: { readonly type: string }): boolean => type !== 'heartbeat'

/** The first event of a stream that fits. */
const firstOf = async <Event>(open: (signal: AbortSignal) => AsyncIterable<Event>, fits: (event: Event) => boolean): Promise<Event> => {
  const ending = new AbortController()
  try {
    for await (const event of open(ending.signal)) if (fits(event)) return event
  } finally {
    ending.abort()
  }
  throw new Error('The stream ended before')
}

/** What an answer is as soon as there is one. */
const eventually = async <T>(ask: () => Promise<T>): Promise<T> => {
  const answers = await until(
    () =>
      ask().then(
        (answer) => [answer],
        () => [],
      ),
    (found) => found.length === 1,
  )
  const [answer] = answers
  if (answer === undefined) throw new Error('No answer')
  return answer
}

const firstByte = async (open: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>): Promise<number | undefined> => {
  const ending = new AbortController()
  const { value } = await (await open(ending.signal)).getReader().read()
  ending.abort()
  return value?.[0]
}

const startKlv = ({ client }: Given) => eventually(() => client.klv.start(ID))

const afterKlv = async <T>(given: Given, ask: (klv: EngineClient['klv']) => Promise<T>): Promise<T> => {
  await startKlv(given)
  given.sendKlv?.(ID)
  return eventually(() => ask(given.client.klv))
}

const aFile = async ({ client, addScreenshot }: Given) => {
  addScreenshot?.(ID)
  await client.screenshots.start(ID, SCHEDULE, { resume: false })
  const files = await until(
    () => client.screenshots.list({ pipeline_id: ID, limit: 1 }),
    (listed) => listed.length > 0,
  )
  await client.screenshots.stop(ID)
  const [file] = files
  if (file === undefined) throw new Error('No file')
  return file
}

const expectJpeg = async (body: JpegAnswer['body']): Promise<void> => {
  const bytes = new Uint8Array(await new Response(body).arrayBuffer())
  expect([...bytes.subarray(0, 2), ...bytes.subarray(-2)]).toEqual([0xff, 0xd8, 0xff, 0xd9])
}
