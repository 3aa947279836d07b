import { describe, expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../../../engine/faults/fault.ts'
import { createPlanner, noSandbox, type Planner } from '../../../../engine/launch/plan.ts'
import type { MountOptions } from '../../../../engine/mount/mount-point.ts'
import { Supervisor } from '../../../../engine/pipelines/supervisor.ts'
import { Recordings } from '../../../../engine/recordings/recordings.ts'
import type { Publisher } from '../../../../engine/rtsp/publisher/publisher.ts'
import { KeptMemory } from '../../../../engine/screenshots/decode/decoder-keeper.ts'
import { createDecodeSlots } from '../../../../engine/screenshots/decode/slots.ts'
import { WebRtc } from '../../../../engine/webrtc/web-rtc.ts'
import type { NumberedEvent } from '../../../../lib/engine/messages.ts'
import type { ApiError } from '../../../../lib/errors.ts'
import type { PipelineConfig } from '../../../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'
import { configure } from '../../../helpers/media/play-launch.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'

/** A supervisor whose outputs listen nowhere. */
const setUp = ({ plan, ...host }: { readonly advancedRefusal?: ApiError; readonly plan?: Planner['plan'] } = {}) => {
  const mounts: MountOptions[] = []
  const closed: string[] = []
  const publisher: Publisher = {
    mount: async ({ path }, options) => {
      mounts.push(options)
      const close = async () => void closed.push(path)
      return { readers: 0, stats: { bytesOut: 0, gopDrops: 0, worstLoss: 0 }, disconnectReaders: () => {}, close } as never
    },
    listening: [],
    connections: 0,
    requireCredentials: () => {},
    close: async () => {},
  }
  const supervisor = new Supervisor({
    publisher,
    planner: { ...createPlanner({ allowFiles: false, ...host }), ...(plan && { plan }) },
    screenshots: {
      store: { put: async () => expect.fail('unused'), trim: async () => {} },
      slots: createDecodeSlots(),
      memory: new KeptMemory(),
    },
    recordings: new Recordings({
      folder: '/nowhere',
      dataDir: '/nowhere',
      settings: () => DEFAULT_SETTINGS.recordings,
      now: () => 0,
      configured: () => false,
      log: silentLog,
    }),
    webRtc: new WebRtc({ port: 0, hosts: [], bindAddress: undefined, log: silentLog }),
    log: silentLog,
    now: () => 0,
    outputHost: '0.0.0.0',
    ports: { first: 50_000, last: 50_010 },
  })
  const events: string[] = []
  const moments: NumberedEvent[] = []
  supervisor.subscribe((event: NumberedEvent) => {
    moments.push(event)
    if (event.type !== 'begin') events.push(event.type)
  })
  onTestFinished(() => supervisor.close())
  return { supervisor, mounts, closed, events, moments }
}

const onDemand: PipelineConfig = {
  ...configure('test://ball', null),
  on_demand: true,
  output: { uri: 'rtsp://127.0.0.1:50000/cam-1' },
}

describe('registering pipelines', () => {
  it('changes nothing when an equal configuration comes again, whatever the order of its keys', async () => {
    const { supervisor, mounts, closed, events } = setUp()
    await supervisor.put(onDemand, { create: true })
    const reordered = Object.fromEntries(Object.entries(onDemand).reverse()) as unknown as PipelineConfig
    await supervisor.put(
      { ...reordered, klv_config: { auto_extract_geolocation: false, synchronous: false, pass_klv: false } },
      { create: false },
    )
    expect([mounts.length, closed.length, events]).toEqual([1, 0, ['pipeline']])
    await supervisor.put(
      { ...onDemand, klv_config: { pass_klv: true, auto_extract_geolocation: false, synchronous: false } },
      { create: false },
    )
    expect([mounts.length, closed.length]).toEqual([2, 1])
  })

  it('refuses a push to the output of the same pipeline, also when the output is assigned', async () => {
    const { supervisor } = setUp()
    const pushing = (uri: string): PipelineConfig => ({ ...onDemand, output: { uri: 'rtsp://0.0.0.0:50000/cam-1' }, push: [{ uri }] })
    const refusal = (path: string) => ({ code: 'VALIDATION_ERROR', details: { issues: [expect.objectContaining({ path })] } })
    for (const uri of [
      'rtsp://127.0.0.1:50000/cam-1',
      'rtsps://x:y@localhost:50000/cam-1/',
      'rtsp://[::1]:50000/cam-1?a=b',
      'rtsp://[::ffff:127.0.0.1]:50000/cam-1',
      'rtsp://2130706433:50000/cam-1',
      'rtsp://localhost.:50000/cam-1',
    ]) {
      await expect(supervisor.put(pushing(uri), { create: true }), uri).rejects.toMatchObject(refusal('push.0.uri'))
      await expect(supervisor.check(pushing(uri)), uri).rejects.toMatchObject(refusal('push.0.uri'))
    }
    const anyPort = Array.from({ length: 11 }, (_, at) => ({ uri: `rtsp://127.0.0.1:${50_000 + at}/cam-1` }))
    await expect(supervisor.put({ ...onDemand, output: null, push: anyPort }, { create: true })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining('a receiver that is not the output of this pipeline'),
    })
    const others = ['rtsp://127.0.0.1:50000/cam-2', 'rtsp://127.0.0.1:50001/cam-1', 'rtsp://192.0.2.9:50000/cam-1', 'udp://127.0.0.1:50000']
    await supervisor.put({ ...pushing(''), push: others.map((uri) => ({ uri })) }, { create: true })
    expect(supervisor.view('cam-1').runtime.push).toMatchObject(others.map((uri) => ({ uri, state: 'idle', last_error: null, bytes: 0 })))
  })

  it('publishes a second track where KLV is passed on, and whatever an advanced pipeline names', async () => {
    const { supervisor, mounts } = setUp()
    const { id, on_demand, output, klv_config, audio, audio_bitrate, push, ephemeral } = onDemand
    const common = { on_demand, output, klv_config, audio, audio_bitrate, push, ephemeral }
    await supervisor.put({ ...onDemand, klv_config: { ...klv_config, pass_klv: true } }, { create: true })
    await supervisor.put({ ...onDemand, id: 'cam-2' }, { create: true })
    const advanced = { ...common, id: `${id}-own`, mode: 'advanced', raw_pipeline: 'videotestsrc ! fakesink name=pay0' } as const
    await supervisor.put(advanced, { create: true })
    expect(mounts.map(({ streams }) => streams.map((stream) => stream !== undefined))).toEqual([
      [true, true, false],
      [true, false, false],
      [true, true, false],
    ])
  })

  it('refuses an output at an address of another host, but not of a stored pipeline: the host may get the address later', async () => {
    const { supervisor } = setUp()
    const elsewhere: PipelineConfig = { ...onDemand, output: { uri: 'rtsp://192.0.2.9:50000/cam-1' } }
    await expect(supervisor.put(elsewhere, { create: true })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
    await supervisor.put(elsewhere, { create: true, stored: true })
    expect(supervisor.view('cam-1')).toMatchObject({ state: 'ready' })
  })

  it('plans the first attempt of a replaced configuration without the fault of the one before', async () => {
    const faults: (string | undefined)[] = []
    const { supervisor } = setUp({
      plan: async (_config, _settings, { previousFault }) => {
        faults.push(previousFault?.reason)
        throw new Fault('unauthorized', 'The source requires a password.')
      },
    })
    const config = (latency: number) => ({ ...onDemand, source: { uri: 'test://ball', latency_ms: latency } }) as PipelineConfig
    const fails = () => expect(supervisor.play('cam-1', { wait: true })).rejects.toMatchObject({ code: 'ENGINE_ERROR' })
    await supervisor.put(config(1), { create: true })
    await fails()
    await supervisor.stop('cam-1')
    await fails()
    await supervisor.stop('cam-1')
    await supervisor.put(config(2), { create: false })
    await fails()
    expect(faults).toEqual([undefined, 'unauthorized', undefined])
  })

  it('keeps a pipeline that was registered while an earlier removal of the same id was ending', async () => {
    const { supervisor, events } = setUp()
    await supervisor.put(onDemand, { create: true })
    const removals = [supervisor.remove('cam-1', true), supervisor.remove('cam-1', true), supervisor.remove('cam-1', true)]
    const registered = Promise.race(removals).then(() => supervisor.put(onDemand, { create: true }))
    await Promise.all([...removals, registered])
    expect(supervisor.list().map(({ id }) => id)).toEqual(['cam-1'])
    expect(events).toEqual(['pipeline', 'pipeline_removed', 'pipeline'])
  })

  it('registers a pipeline anew that was removed while its replacement was checked', async () => {
    const { supervisor } = setUp()
    await supervisor.put(onDemand, { create: true })
    const replaced = supervisor.put({ ...onDemand, mode: 'advanced', raw_pipeline: 'fakesrc ! fakesink', output: null } as never, {
      create: false,
    })
    await supervisor.remove('cam-1', false)
    await replaced
    expect(supervisor.list().map(({ id }) => id)).toEqual(['cam-1'])
  })
})

describe('a play in the background', () => {
  it('fails with what no attempt can mend, and starts nothing', async () => {
    const { supervisor } = setUp()
    await supervisor.put({ ...onDemand, source: { uri: 'file:///x', latency_ms: 0 } } as PipelineConfig, { create: true, stored: true })
    await expect(supervisor.play('cam-1', { wait: false, check: true })).rejects.toMatchObject({ code: 'ENGINE_ERROR' })
    expect(supervisor.view('cam-1').runtime).toMatchObject({ phase: 'idle', desired: 'ready' })
  })
})

describe('an advanced pipeline that the settings refuse since it was stored', () => {
  it.each([
    ['advanced_disabled', { enabled: false, denied_elements: [] }, true],
    ['denied_element', { enabled: true, denied_elements: ['x264enc'] }, true],
    ['denied_element', { enabled: true, denied_elements: ['x264enc'] }, false],
  ])('is not played: %s', async (reason, advanced, wait) => {
    const { supervisor } = setUp()
    supervisor.configure({ ...DEFAULT_SETTINGS, advanced })
    const config = { ...onDemand, mode: 'advanced', raw_pipeline: 'videotestsrc ! x264enc ! rtph264pay name=pay0' } as never
    await supervisor.put(config, { create: true, stored: true })
    await expect(supervisor.play('cam-1', { wait, check: !wait })).rejects.toMatchObject({ code: 'FORBIDDEN', details: { reason } })
  })
})

describe('an advanced pipeline that was stored on a host with a sandbox', () => {
  it('is started by nobody on a host without one, also not by a reader', async () => {
    const { supervisor, mounts } = setUp({ advancedRefusal: noSandbox('There is none.') })
    const config = { ...onDemand, mode: 'advanced', raw_pipeline: 'videotestsrc ! x264enc ! rtph264pay name=pay0' } as never
    await supervisor.put(config, { create: true, stored: true })
    const refusal = { code: 'FORBIDDEN', details: { reason: 'no_sandbox' } }
    await expect(supervisor.play('cam-1', { wait: true })).rejects.toMatchObject(refusal)
    await expect(mounts[0]?.onDescribe?.()).rejects.toMatchObject(refusal)
    expect(supervisor.view('cam-1').runtime).toMatchObject({ phase: 'idle', desired: 'ready' })
  })
})

describe('what a follower of the engine gets', () => {
  it('is the state that was last requested, also of a pipeline that is stopped at rest', async () => {
    const plan = () => Promise.reject(new Fault('unsupported', 'Its codec is not supported.'))
    const { supervisor, moments } = setUp({ plan })
    const latest = () => moments.findLast((event) => event.type === 'pipeline')?.view
    await supervisor.put(onDemand, { create: true })
    await supervisor.play('cam-1', { wait: false })
    await expect.poll(() => supervisor.view('cam-1').runtime.phase).toBe('failed')
    await supervisor.put(
      { ...onDemand, klv_config: { pass_klv: true, auto_extract_geolocation: false, synchronous: false } },
      { create: false },
    )
    expect(latest()?.runtime).toMatchObject({ phase: 'idle', desired: 'playing' })
    await supervisor.stop('cam-1')
    expect(latest()).toEqual(supervisor.view('cam-1'))
  })

  it('begins with how far the engine is, and is numbered, views as well', async () => {
    const { supervisor, moments } = setUp()
    await supervisor.put(onDemand, { create: true })
    await supervisor.put({ ...onDemand, id: 'cam-2', output: { uri: 'rtsp://127.0.0.1:50001/cam-2' } }, { create: true })
    await supervisor.remove('cam-1', false)
    const { engine } = supervisor.moment
    expect(moments).toMatchObject([
      { type: 'begin', engine, revision: 0 },
      { type: 'pipeline', view: { id: 'cam-1', revision: 1 } },
      { type: 'pipeline', view: { id: 'cam-2', revision: 2 } },
      { type: 'pipeline_removed', id: 'cam-1', revision: 3 },
    ])
    expect(supervisor.moment).toEqual({ engine, revision: 3 })
    expect(supervisor.list()).toMatchObject([{ id: 'cam-2', revision: 2 }])
  })

  it('notes once that all views show other defaults of the screenshots', async () => {
    const { supervisor, moments } = setUp()
    await supervisor.put(onDemand, { create: true })
    const screenshots = { ...DEFAULT_SETTINGS.screenshots, interval_seconds: 77 }
    supervisor.configure({ ...DEFAULT_SETTINGS, screenshots })
    supervisor.configure({ ...DEFAULT_SETTINGS, screenshots })
    expect(moments.slice(2)).toMatchObject([{ type: 'relist', revision: 2 }])
    expect(supervisor.view('cam-1').screenshots.interval_seconds).toBe(77)
  })
})
