import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { property } from '../../../engine/gst/element.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { type RtspSource, startRtspSource } from '../../helpers/rtsp/source.ts'
import { HOSTILE_PASSWORDS } from '../../unit/lib/credentials/hostile-passwords.ts'

/** How a password may look in a text. */
const forms = (password: string): readonly string[] => [
  password,
  password.trim(),
  encodeURIComponent(password),
  JSON.stringify(password).slice(1, -1),
  property('x', password).slice(2),
  Buffer.from(`user:${password}`).toString('base64'),
  password.slice(0, 12),
]

const found = (texts: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(texts).flatMap(([where, text]) =>
    HOSTILE_PASSWORDS.filter((password) => forms(password).some((form) => text.includes(form))).map((password) => `${where}: ${password}`),
  )

/** Arguments and environments of all processes but those of the sources, which are not ours. */
const processTexts = (sources: readonly number[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && !sources.includes(Number(name)) && Number(name) !== process.pid)
      .flatMap((pid) => ['cmdline', 'environ'].map((file) => [`/proc/${pid}/${file}`, readOr(`/proc/${pid}/${file}`)])),
  )

const readOr = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** All files of the data directory but the database, which has to keep them. */
const fileTexts = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => !name.startsWith('service.db') && statSync(join(folder, name)).isFile())
      .map((name) => [name, readFileSync(join(folder, name), 'latin1')]),
  )

const simple = (id: string, uri: string) => ({ id, mode: 'simple', on_demand: true, source: { uri } })
const advanced = (id: string, raw_pipeline: string) => ({ id, mode: 'advanced', on_demand: true, raw_pipeline })

/** Follows the events until the test ends. */
const followEvents = async (service: Service): Promise<() => string> => {
  let text = ''
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const response = await fetch(`${service.url}/svc/events`, { signal: abort.signal })
  const read = async (): Promise<void> => {
    for await (const part of response.body ?? []) text += Buffer.from(part).toString('utf8')
  }
  read().catch(() => {})
  return () => text
}

/** A server that wants credentials and accepts none. */
const refusingHttp = () =>
  startHttpServer((_, response) => void response.writeHead(401, { 'www-authenticate': 'Basic realm="camera"' }).end())

/** Eight at a time: each waits for a program that checks a description, or for a source. */
const inEights = async <Item>(items: readonly Item[], call: (item: Item) => Promise<unknown>): Promise<void> => {
  for (let at = 0; at < items.length; at += 8) await Promise.all(items.slice(at, at + 8).map(call))
}

const PLAYED = { basic: 'double"quote-03', digest: 'at@sign@twice-11' } as const

const configurations = (sources: Readonly<Record<keyof typeof PLAYED, RtspSource>>, http: string) => {
  const failing = HOSTILE_PASSWORDS.flatMap((password, index) => {
    const userInfo = `user:${encodeURIComponent(password)}`
    return [
      simple(`rtsp-${index}`, sources.digest.url('/nothing', userInfo)),
      simple(`http-${index}`, `${http.replace('//', `//${userInfo}@`)}/live`),
      // SRT knows none that is longer.
      ...(Buffer.byteLength(password) > 79 ? [] : [simple(`srt-${index}`, `srt://127.0.0.1:9?passphrase=${encodeURIComponent(password)}`)]),
      advanced(
        `advanced-${index}`,
        `rtspsrc location=${sources.basic.url('/nothing')} user-id=user ${property('user-pw', password)} ! rtph264depay ! h264parse ! rtph264pay name=pay0`,
      ),
    ]
  })
  const playing = (['basic', 'digest'] as const).flatMap((method) => [
    simple(`plays-${method}`, sources[method].url('/h264', `user:${encodeURIComponent(PLAYED[method])}`)),
    advanced(
      `plays-advanced-${method}`,
      `rtspsrc latency=0 protocols=tcp location=${sources[method].url('/h264')} user-id=user ${property('user-pw', PLAYED[method])} ! rtph264depay ! h264parse ! rtph264pay name=pay0`,
    ),
  ])
  return { failing, playing }
}

it('shows no password of a source in a process, a log, an event, an answer or a file, whatever characters it has', async () => {
  const [basic, digest] = await Promise.all(
    (['basic', 'digest'] as const).map((auth) =>
      startRtspSource(['--auth', auth, '--password', PLAYED[auth], '--width', '320', '--height', '180']),
    ),
  )
  if (basic === undefined || digest === undefined) throw new Error('The sources did not start')
  onTestFinished(() => Promise.all([basic.stop(), digest.stop()]).then(() => {}))
  const service = await startService({ env: { SVC_LOG_LEVEL: 'debug', SVC_OUTPUT_PORTS: '31000-31199' } })
  const events = await followEvents(service)
  const answers: Record<string, string> = {}
  const call = async (method: string, path: string, body?: unknown) => {
    const { status, body: answer } = await service.request(method, path, body)
    answers[`${method} ${path} ${JSON.stringify((body as { id?: string })?.id ?? '')}`] = JSON.stringify(answer)
    return { status, answer }
  }
  const { failing, playing } = configurations({ basic, digest }, (await refusingHttp()).url)

  await inEights([...failing, ...playing], async (configuration) =>
    expect([configuration.id, (await call('POST', '/svc/pipeline', configuration)).status]).toEqual([configuration.id, 201]),
  )
  for (const { id } of playing) expect([id, (await call('PUT', `/svc/pipeline/${id}/play`)).status]).toEqual([id, 200])
  const running = playing.map(({ id }) => id)
  expect(found(processTexts([basic.pid, digest.pid]))).toEqual([])

  // GStreamer quotes a value that a property does not take, and what it cannot read.
  const described = HOSTILE_PASSWORDS.flatMap((password, index) => {
    const uri = property('port', `rtsp://user:${encodeURIComponent(password)}@h/`)
    return [
      advanced(`wrong-${index}`, `udpsrc ${uri} ! fakesink`),
      advanced(`wrong2-${index}`, `rtspsrc ${property('user-pw', password)} nothing=1 ! fakesink`),
      simple(`right-${index}`, `rtsp://user:${encodeURIComponent(password)}@h/`),
    ]
  })
  await inEights(described, (configuration) => call('POST', '/svc/pipeline/validate', configuration))
  // Each password once, the kinds of sources in turn.
  const played = failing.filter((_, index) => (index + Math.floor(index / 4)) % 4 === 0)
  await call('PUT', '/svc/settings', { start_timeout_seconds: 1 })
  await inEights(played, ({ id }) => call('PUT', `/svc/pipeline/${id}/play`))
  await inEights([...failing, ...playing], async ({ id }) => {
    await call('GET', `/svc/pipeline/${id}`)
    await call('GET', `/svc/pipeline/${id}/log`)
  })
  for (const path of ['/svc/pipeline', '/svc/health', '/svc/settings', '/svc/metrics']) await call('GET', path)

  const states = await Promise.all(running.map(async (id) => (await service.request('GET', `/svc/pipeline/${id}`)).body.state))
  expect(states).toEqual(running.map(() => 'playing'))
  expect(events()).toContain('pipeline_error')
  expect(found(processTexts([basic.pid, digest.pid]))).toEqual([])
  expect(found({ ...answers, events: events(), log: service.log.join('\n'), ...fileTexts(service.dataDir) })).toEqual([])
  expect(await service.stop()).toBe(0)
}, 240_000)
