/**
 * Half of the hosts of a fleet without their network (100 % loss): each of these is a network namespace whose packets nftables drops, and
 * some have a reader inside. Readers lose no picture, documents of the meantime arrive within 5 s after it, and each event once and in
 * order. As many readers of the other hosts tell what is of the link and what of a busy machine. Needs root. partition [HOSTS = 24] [SECONDS = 600] [READERS = 3]
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jetstream } from '@nats-io/jetstream'
import { openFarHost } from '../../helpers/bench/far-host.ts'
import { openFleetView } from '../../helpers/nats/fleet.ts'
import { startNatsServer } from '../../helpers/nats/nats-server.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { until } from '../../helpers/until.ts'

const [count = 24, seconds = 600, readerCount = 3] = process.argv.slice(2).map(Number)
const HEALED_MS = 5000
const PATIENCE_MS = 60_000
const DISTURB_EVERY_MS = 5000
/** At 10 pictures a second, 90 kHz. */
const PICTURE = 9000
const CUT =
  'table inet cut { chain in { type filter hook input priority 0; iifname "eth0" drop; }; chain out { type filter hook output priority 0; oifname "eth0" drop; }; }'

const say = (text: string): void => console.log(text)
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A host, in a namespace of its own if it is to be cut off. */
interface Member {
  readonly name: string
  readonly service: Service
  readonly far: ReturnType<typeof openFarHost> | undefined
}

const server = await startNatsServer('', undefined, '0.0.0.0')
const fleet = await openFleetView(server.url)
const applied = new Map<string, { readonly revision: number; readonly at: number }>()
fleet.connection.subscribe('$KV.vps-actual.*', {
  callback: (_, message) => {
    const { host, applied_revision } = message.json<{ host: string; applied_revision: number | null }>()
    if ((applied_revision ?? 0) > (applied.get(host)?.revision ?? 0))
      applied.set(host, { revision: applied_revision ?? 0, at: performance.now() })
  },
})
const members: Member[] = []
const children: ChildProcess[] = []

const start = async (at: number): Promise<Member> => {
  const name = `host-${at}`
  const far = at < count / 2 ? openFarHost(`fleet${at}`, at + 1) : undefined
  const address = far === undefined ? '127.0.0.1' : `10.213.${at + 1}.1`
  const env = { SVC_NATS_URL: `nats://${address}:${server.port}`, SVC_HOST_NAME: name, SVC_DASHBOARD: '0' }
  const dataDir = mkdtempSync(join(tmpdir(), 'fleet-'))
  return { name, far, service: await startService({ dataDir, env, ...(far !== undefined && { prefix: far.prefix }) }) }
}

/** Starts a program where a host is; answers the lines of its output, and when each came. */
const follow = ({ far }: Member, program: string, args: readonly string[]) => {
  const [first = program, ...rest] = [...(far?.prefix ?? []), program, ...args]
  const child = spawn(first, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  const lines: { readonly text: string; readonly at: number }[] = []
  const errors: string[] = []
  let left = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const whole = (left + text).split('\n')
    left = whole.pop() ?? ''
    lines.push(...whole.map((line) => ({ text: line, at: performance.now() })))
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => void errors.push(text))
  return { child, lines, errors }
}

const inside = ({ far }: Member, args: readonly string[], input?: string): string => {
  const [first = '', ...rest] = [...(far?.prefix ?? []), ...args]
  return execFileSync(first, rest, { encoding: 'utf8', ...(input !== undefined && { input }) })
}

const documentOf = (at: number, change: number): string => {
  const idle = { id: 'camera', source: { uri: `rtsp://127.0.0.1:9/${change}` }, on_demand: true }
  const ball = { id: 'ball', source: { uri: 'test://ball?width=320&height=240&fps=10' } }
  return JSON.stringify({ pipelines: at % (count / 2) < readerCount ? [idle, ball] : [idle] })
}

/** Stores a document for every host; answers the revision of each. */
const change = async (number: number): Promise<ReadonlyMap<string, number>> => {
  const js = jetstream(fleet.connection)
  const stored = members.map(
    async ({ name }, at) => [name, (await js.publish(`$KV.vps-desired.${name}`, documentOf(at, number))).seq] as const,
  )
  return new Map(await Promise.all(stored))
}

const untilApplied = async (revisions: ReadonlyMap<string, number>, of: readonly Member[]): Promise<readonly number[]> => {
  const isDone = (): boolean => of.every(({ name }) => applied.get(name)?.revision === revisions.get(name))
  await until(isDone, (done) => done, PATIENCE_MS)
  return of.map(({ name }) => applied.get(name)?.at ?? 0)
}

/** A person changes something on a host, which is changed back: events of both. */
const disturb = (member: Member): void => {
  const body = '{"geolocation":{"latitude":1,"longitude":2}}'
  const url = `${member.service.url}/svc/pipeline/camera`
  inside(member, ['curl', '-sf', '-X', 'PATCH', '-H', 'content-type: application/json', '-d', body, url])
}

/** Reads the pictures of a host, where it is: a line for each. */
const readBall = async (member: Member) => {
  const { output } = JSON.parse(inside(member, ['curl', '-sf', `${member.service.url}/svc/pipeline/ball`]))
  const uri = (output.uri as string).replace('0.0.0.0', '127.0.0.1')
  const input = ['-v', 'error', '-rtsp_transport', 'tcp', '-i', uri]
  const reader = follow(member, 'ffmpeg', [...input, '-c', 'copy', '-flush_packets', '1', '-f', 'framecrc', '-'])
  await until(
    () => reader.lines.length,
    (length) => length > 20,
    PATIENCE_MS,
  )
  return reader
}
type Reader = Awaited<ReturnType<typeof readBall>>

/** From one picture to the next, the longest: by their times, 90 kHz, and by when they came, milliseconds. */
const gapsOf = ({ lines }: Reader) => {
  const pictures = lines.filter(({ text }) => /^\d/.test(text)).map(({ text, at }) => ({ pts: Number(text.split(',')[2]), at }))
  const steps = pictures.slice(1).map(({ pts, at }, index) => [pts - (pictures[index]?.pts ?? 0), at - (pictures[index]?.at ?? 0)] as const)
  return { count: pictures.length, pts: Math.max(...steps.map(([pts]) => pts)), ms: Math.max(...steps.slice(20).map(([, ms]) => ms)) }
}
const shown = (readers: readonly Reader[]): string =>
  readers
    .map(gapsOf)
    .map(({ count: pictures, ms }) => `${pictures} (${ms.toFixed(0)})`)
    .join(', ')

/** The ids of events as a client of the host has read them. */
const idsOf = (lines: readonly { readonly text: string }[]): readonly string[] =>
  lines.flatMap(({ text }) => (text.startsWith('id: ') ? [text.slice(4)] : []))

try {
  for (let at = 0; at < count; at += 1) members.push(await start(at))
  for (const { name } of members) await fleet.untilActual(name, () => true, PATIENCE_MS)
  const cut = members.filter(({ far }) => far !== undefined)
  await untilApplied(await change(0), members)
  say(`${count} hosts with processes of their own, ${cut.length} of them in namespaces, have their first document`)
  const events = cut.map((member) => follow(member, 'curl', ['-sN', `${member.service.url}/svc/events`]))
  const uncut = members.filter(({ far }) => far === undefined)
  const [readers, others] = await Promise.all([cut, uncut].map((of) => Promise.all(of.slice(0, readerCount).map(readBall))))
  for (const member of cut) inside(member, ['nft', '-f', '-'], CUT)
  const begun = performance.now()
  const revisions = await change(1)
  await untilApplied(revisions, uncut)
  let disturbed = 0
  for (const end = begun + seconds * 1000; performance.now() < end; disturbed += 1) {
    const member = cut[disturbed % cut.length]
    if (member !== undefined) disturb(member)
    await pause(Math.max(0, Math.min(DISTURB_EVERY_MS, end - performance.now())))
  }
  assert.ok(
    cut.every(({ name }) => applied.get(name)?.revision !== revisions.get(name)),
    'the link was not cut',
  )
  const healed = performance.now()
  for (const member of cut) inside(member, ['nft', 'delete', 'table', 'inet', 'cut'])
  const times = (await untilApplied(revisions, cut)).map((at) => at - healed)
  const longest = Math.max(...times)
  say(`${seconds} s with all packets of ${cut.length} hosts dropped: documents arrive at most ${longest.toFixed(0)} ms after it`)
  say(`pictures of readers in them (longest gap, ms): ${shown(readers ?? [])}; of readers of other hosts: ${shown(others ?? [])}`)
  for (const [at, member] of cut.entries()) {
    const read = idsOf(events[at]?.lines ?? [])
    const stored = await until(
      async () => (await fleet.events(member.name)).map(({ message }) => message.id as string),
      (ids) => read.every((id) => ids.includes(id)),
      PATIENCE_MS,
    )
    const counts = stored.map((id) => Number(id.split('-').at(-1)))
    assert.ok(
      counts.every((one, index) => index === 0 || one > (counts[index - 1] ?? 0)),
      `events of ${member.name}`,
    )
  }
  say(`${events.reduce((sum, { lines }) => sum + idsOf(lines).length, 0)} events of them, each once and in order (${disturbed} changes)`)
  for (const reader of readers ?? []) {
    assert.deepEqual([reader.child.exitCode, reader.errors], [null, []])
    assert.ok(gapsOf(reader).pts < 2 * PICTURE, 'a picture is missing')
  }
  assert.ok(longest <= HEALED_MS, 'documents arrive too late after an outage')
} finally {
  for (const child of children) child.kill('SIGKILL')
  await Promise.allSettled(members.map(({ service }) => service.stop()))
  for (const { far, service } of members) {
    far?.close()
    rmSync(service.dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
  await fleet.close()
  await server.remove()
}
process.exit()
