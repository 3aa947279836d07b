import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { type Client, createClient } from '../../handlers/client/client.ts'
import { type ApplyOptions, applyPlan } from '../../handlers/declared/apply.ts'
import { readDeclaration } from '../../handlers/declared/declaration.ts'
import { DeclarationError } from '../../handlers/declared/declaration-error.ts'
import { exportDeclaration } from '../../handlers/declared/export.ts'
import { makePlan } from '../../handlers/declared/plan.ts'
import { API_KEY, openApi } from '../helpers/api/api.ts'

const BALL = { uri: 'test://ball' }
const MASKED = { uri: 'rtsp://***@10.0.0.5/stream' }
const SECRET = { uri: 'rtsp://viewer:s3cret@10.0.0.5/stream' }
const simple = (id: string, more: object = {}) => ({ id, mode: 'simple', source: BALL, ...more })

/** The pipelines by their ids: those created at the same time have no order. */
const ordered = ({ pipelines, ...rest }: Awaited<ReturnType<typeof exportDeclaration>>) => ({
  ...rest,
  pipelines: pipelines.toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other))),
})

/** An API and a client of it, whose answers are checked against the API document; `changes`: requests that change something. */
const begin = async () => {
  const api = await openApi()
  const changes: string[] = []
  const fetch = (url: string, init: RequestInit): Promise<Response> => {
    const { pathname, search } = new URL(url)
    const method = init.method ?? 'GET'
    if (method !== 'GET' && !pathname.endsWith('/validate')) changes.push(`${method} ${pathname.replace('/svc/', '')}`)
    return api.send(method, `${pathname}${search}`, init.body as string | undefined, Object.fromEntries(init.headers as Headers))
  }
  return { api, client: createClient({ url: api.origin, apiKey: API_KEY, fetch }), changes }
}

const apply = async (client: Client, declared: unknown, options: ApplyOptions & { readonly prune?: boolean } = {}) => {
  const declaration = readDeclaration(typeof declared === 'string' ? declared : stringify(declared), 'cameras.yaml')
  const plan = await makePlan(client, declaration, { prune: options.prune ?? false, signal: options.signal })
  return { plan, ...(await applyPlan(client, plan, declaration, options)) }
}

const mistakesOf = async (work: Promise<unknown>): Promise<readonly string[]> => {
  const error = await work.catch((caught: unknown) => caught)
  return error instanceof DeclarationError ? error.mistakes : expect.fail(String(error))
}

const expectFailed = (failed: Awaited<ReturnType<typeof applyPlan>>['failed'], one: string, message: RegExp) =>
  expect(failed.map(({ id, failure }) => [id, failure.message])).toEqual([[one, expect.stringMatching(message)]])

const stateOf = async (client: Client) =>
  Object.fromEntries((await client.listPipelines()).map(({ id, state, on_demand }) => [id, `${state}${on_demand ? ' on demand' : ''}`]))

describe('a declaration', () => {
  it('sets the password of readers again, which is a change only when it is another', async () => {
    const { client } = await begin()
    const declared = (password: string) => ({ settings: { readers: { authentication: 'password', password } } })
    const first = await apply(client, declared('first-password'))
    expect([first.settingsChanged, first.plan.settings?.setAgain]).toEqual([true, []])
    expect(first.plan.settings?.changes.map(({ field }) => field)).toEqual(['readers.authentication', 'readers.password'])
    const again = await apply(client, declared('first-password'))
    expect([again.settingsChanged, again.plan.settings?.changes, again.plan.settings?.setAgain]).toEqual([false, [], ['readers.password']])
    expect((await apply(client, declared('other-password'))).settingsChanged).toBe(true)
    expect((await apply(client, declared('***'))).plan.settings).toBeUndefined()
  })

  it('creates what is not there, and changes nothing the second time', async () => {
    const { client, changes } = await begin()
    const some = [simple('gate'), simple('yard', { on_demand: true, source: SECRET })]
    const others = [simple('off', { state: 'ready' }), simple('lab', { on_demand: true, state: 'playing' })]
    const declared = { pipelines: [...some, ...others], settings: { reconnect: { max_delay_seconds: 5 } } }
    const first = await apply(client, declared)
    expect([first.done.length, first.failed]).toEqual([4, []])
    expect(await stateOf(client)).toEqual({ gate: 'playing', yard: 'ready on demand', off: 'ready', lab: 'playing on demand' })
    expect((await client.getSettings()).reconnect.max_delay_seconds).toBe(5)
    changes.length = 0
    const second = await apply(client, declared)
    expect([second.plan.unchanged, second.done, changes]).toEqual([4, [], []])
  })

  it('stops, replaces and plays only what differs and runs', async () => {
    const { client, changes } = await begin()
    await apply(client, [simple('gate'), simple('porch'), simple('yard', { on_demand: true })])
    changes.length = 0
    const encoding = { codec: 'h264', bitrate: 500 }
    await apply(client, [simple('gate', { encoding }), simple('porch'), simple('yard', { on_demand: true, encoding })])
    expect(changes.sort()).toEqual(['PUT pipeline/gate', 'PUT pipeline/gate/play', 'PUT pipeline/gate/stop', 'PUT pipeline/yard'])
    expect(await stateOf(client)).toEqual({ gate: 'playing', porch: 'playing', yard: 'ready on demand' })
  })

  it('changes a geolocation while the pipeline plays, and leaves one from KLV alone', async () => {
    const { client, changes } = await begin()
    const klv_config = { auto_extract_geolocation: true }
    await apply(client, [simple('gate'), simple('uav', { klv_config })])
    await client.patchPipeline({ id: 'uav', body: { geolocation: { latitude: 1, longitude: 2 } } })
    changes.length = 0
    await apply(client, [simple('gate', { geolocation: { latitude: 3, longitude: 4 } }), simple('uav', { klv_config })])
    expect(changes).toEqual(['PATCH pipeline/gate'])
    expect((await client.getPipeline({ id: 'uav' })).geolocation).toMatchObject({ latitude: 1 })
  })

  it('sees whether credentials are those that are stored, and keeps a masked one beside one that is written out', async () => {
    const { api, client, changes } = await begin()
    const push = (passphrase: string) => [{ uri: `srt://10.0.0.7:9000?passphrase=${passphrase}` }]
    const gate = (source: object, passphrase: string) => simple('gate', { on_demand: true, source, push: push(passphrase) })
    await apply(client, [gate(SECRET, '0123456789ab')])
    changes.length = 0
    const unchanged = [gate(SECRET, '0123456789ab'), gate(MASKED, '***'), gate(MASKED, '0123456789ab'), gate(SECRET, '***')]
    for (const same of unchanged) await apply(client, [same])
    expect(changes).toEqual([])
    const { plan } = await apply(client, [gate(MASKED, 'ba9876543210')])
    expect(changes).toEqual(['PUT pipeline/gate'])
    expect(JSON.stringify(plan.steps.map((step) => step.changes))).not.toContain('ba9876543210')
    expect(api.engine.config('gate')).toMatchObject({ source: SECRET, push: push('ba9876543210') })
  })

  it('keeps stored credentials that are masked, and names the field where nothing is stored, before it changes anything', async () => {
    const { api, client, changes } = await begin()
    await apply(client, [simple('gate', { on_demand: true, source: SECRET })])
    await apply(client, [simple('gate', { on_demand: true, source: MASKED, encoding: { codec: 'h264' } })])
    expect(JSON.stringify(api.engine.config('gate'))).toContain('viewer:s3cret')
    changes.length = 0
    const wrong = stringify({
      pipelines: [simple('ok'), simple('gate', { source: { uri: 'rtsp://***@10.0.0.9/stream' } }), simple('new', { source: MASKED })],
      settings: { readers: { password: '***' } },
    })
    expect(await mistakesOf(apply(client, wrong))).toEqual([
      expect.stringMatching(/^cameras\.yaml:9:7: source\.uri: \*\*\* keeps .* gate\./),
      expect.stringMatching(/^cameras\.yaml:13:7: source\.uri: .* new\./),
      expect.stringMatching(/^cameras\.yaml:16:5: settings\.readers\.password: /),
    ])
    expect(changes).toEqual([])
  })

  it('deletes with prune what it does not have, never pipelines of triggers', async () => {
    const { client } = await begin()
    await apply(client, [simple('gate'), simple('old')])
    await client.publishStream({ path: 'drone/7' })
    await apply(client, [simple('gate')])
    expect(Object.keys(await stateOf(client)).sort()).toEqual(['drone7', 'gate', 'old'])
    await apply(client, [simple('gate')], { prune: true })
    expect(Object.keys(await stateOf(client)).sort()).toEqual(['drone7', 'gate'])
    expect(await mistakesOf(apply(client, [simple('drone7')]))).toEqual([expect.stringContaining('the pipeline of a trigger')])
    expect((await exportDeclaration(client)).pipelines).toMatchObject([{ id: 'gate' }])
  })

  it('goes on when one fails, and says where in the file the service found the mistake', async () => {
    const { client } = await begin()
    const { failed } = await apply(client, [simple('one', { source: { uri: 'file:///etc/passwd' } }), simple('two')])
    expectFailed(failed, 'one', /^cameras\.yaml:4:5: source\.uri: /)
    expect(await stateOf(client)).toEqual({ two: 'playing' })
  })

  it('leaves a pipeline running whose description the service refuses, new or as it is stored with its credentials in the file', async () => {
    const { api, client, changes } = await begin()
    const lab = (depay: string) => ({ id: 'lab', mode: 'advanced', raw_pipeline: `rtspsrc location=${SECRET.uri} ! ${depay} name=pay0` })
    await apply(client, [lab('rtph264depay ! rtph264pay')])
    const refused = lab('nosuchelement ! rtph264pay')
    changes.length = 0
    expectFailed((await apply(client, [refused])).failed, 'lab', /^cameras\.yaml:3:3: raw_pipeline: .*nosuchelement/)
    expect(changes).toEqual([])
    const { config } = (await api.deps.pipelines.find('lab')) ?? {}
    await api.deps.pipelines.replace('lab', { config: { ...config, ...refused } as never, geolocation: null, updated_at: api.time })
    const { failed } = await apply(client, [refused, simple('two')])
    expectFailed(failed, 'lab', /^cameras\.yaml:3:3: raw_pipeline: .*nosuchelement/)
    expect(changes).toEqual(['POST pipeline'])
    expect(await stateOf(client)).toEqual({ lab: 'playing', two: 'playing' })
  })

  it('is completed by the next run wherever one was cut off', async () => {
    const before = [simple('gate'), simple('porch'), simple('old'), simple('lab', { on_demand: true })]
    const encoding = { codec: 'h264', bitrate: 500 }
    const changed = [simple('gate', { encoding }), simple('porch', { on_demand: true }), simple('lab')]
    const after = [...changed, simple('new'), simple('off', { state: 'ready' })]
    for (let cut = 0; cut < 14; cut++) {
      const { client, changes } = await begin()
      await apply(client, before)
      const isCut = (name: string | symbol) => changes.length >= cut && !/^(?:list|get|validate)/.test(String(name))
      const cutOff = () => Promise.reject(new Error('cut off'))
      const dying = new Proxy(client, { get: (target, name) => (isCut(name) ? cutOff : Reflect.get(target, name)) })
      changes.length = 0
      await apply(dying, after, { prune: true })
      await apply(client, after, { prune: true })
      const states = { gate: 'playing', porch: expect.stringContaining('on demand'), lab: 'playing', new: 'playing', off: 'ready' }
      expect([cut, await stateOf(client)]).toEqual([cut, states])
      const exported = (await exportDeclaration(client)).pipelines.find((pipeline) => 'id' in pipeline && pipeline.id === 'gate')
      expect(exported).toMatchObject({ encoding })
      changes.length = 0
      await apply(client, after, { prune: true })
      expect(changes).toEqual([])
    }
  })
})

describe('an export', () => {
  it('changes nothing when it is applied, whatever the pipelines do', async () => {
    const { client, changes } = await begin()
    const camera = (_: unknown, number: number) =>
      simple(`camera-${number}`, {
        on_demand: number % 2 === 0,
        ...(number % 3 === 0 && { encoding: { codec: 'h264', width: 1280, height: 720, quality: 3 } }),
        ...(number % 5 === 0 && { source: SECRET, klv_config: { pass_klv: true } }),
        ...(number % 7 === 0 && { geolocation: { latitude: number / 10, longitude: 2 } }),
        ...(number % 11 === 0 && { state: number % 2 === 0 ? 'playing' : 'ready' }),
      })
    await apply(client, Array.from({ length: 40 }, camera))
    await client.createPipeline({ body: { id: 'own', mode: 'advanced', raw_pipeline: 'videotestsrc ! x264enc ! rtph264pay name=pay0' } })
    const readers = { authentication: 'password', password: 'correct horse' } as const
    await client.changeSettings({ body: { readers, screenshots: { quality: 50 } } })
    changes.length = 0
    const exported = await exportDeclaration(client)
    const { plan } = await apply(client, exported, { prune: true })
    expect([plan.unchanged, plan.settings, changes]).toEqual([41, undefined, []])
  })

  it('has what differs from the defaults, without credentials, and makes the same service elsewhere', async () => {
    const { client } = await begin()
    await apply(client, {
      pipelines: [simple('gate', { encoding: { codec: 'h264', bitrate: 500 } }), simple('off', { state: 'ready' })],
      settings: { screenshots: { quality: 50 } },
    })
    const exported = await exportDeclaration(client)
    const kept = { mode: 'simple', source: BALL, output: { uri: expect.any(String) }, audio: 'copy' }
    expect(ordered(exported)).toEqual({
      pipelines: [
        { ...kept, id: 'gate', encoding: { codec: 'h264', bitrate: 500 } },
        { ...kept, id: 'off', state: 'ready' },
      ],
      settings: { screenshots: { quality: 50 } },
    })
    const { client: elsewhere } = await begin()
    await apply(elsewhere, exported)
    expect(ordered(await exportDeclaration(elsewhere))).toEqual(ordered(exported))
  })

  it('has a pipeline that this version refuses as it is stored, and apply leaves it alone', async () => {
    const { api, client, changes } = await begin()
    await client.createPipeline({ body: simple('old', { on_demand: true }) as never })
    const { config } = (await api.deps.pipelines.find('old')) ?? {}
    const source = { uri: 'udp://239.0.0.1', latency_ms: 200 }
    await api.deps.pipelines.replace('old', { config: { ...config, source } as never, geolocation: null, updated_at: api.time })
    const exported = await exportDeclaration(client)
    expect(exported.pipelines).toMatchObject([{ id: 'old', source }])
    changes.length = 0
    await apply(client, [simple('new')])
    expect(changes).toEqual(['POST pipeline'])
    expect(await mistakesOf(apply(client, exported))).toEqual([expect.stringContaining('Use an address with a port')])
    await apply(client, [simple('old', { on_demand: true })])
    expect((await client.getPipeline({ id: 'old' })).mode).toBe('simple')
  })
})
