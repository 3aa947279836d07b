import { jetstream } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { createRandom, type Random } from '../random.ts'
import { realNow, realPause } from './fast-time.ts'
import { type FleetView, openFleetView } from './fleet.ts'
import {
  documentOf,
  faultOf,
  LOCALS,
  NOTHING,
  type Present,
  presentOf,
  type Report,
  randomId,
  randomWanted,
  type Wanted,
} from './history.ts'
import { HistoryHost } from './history-host.ts'
import { type NatsServer, startNatsServer } from './nats-server.ts'

interface Options {
  readonly histories: number
  readonly seed: number
  /** Histories at the same time, each on a host of its own. */
  readonly hosts: number
  /** The server is killed after so many histories, on average; every third time its store is lost. */
  readonly killEvery: number
}

/** Real milliseconds, of a busy machine. */
const PATIENCE_MS = 60_000

/**
 * Random histories of documents, partitions, restarts, local changes and servers that are killed: after each one the host is left alone,
 * and must come to be as its document says. Throws with the seed and the steps of the first that does not.
 */
export const runHistories = async ({ histories, seed, hosts, killEvery }: Options) => {
  const server = await startNatsServer()
  const fleet = await openFleetView(server.url)
  const random = createRandom(seed)
  const run = new Run(server, fleet)
  await run.listen()
  let begun = 0
  const members: HistoryHost[] = []
  const work = async (at: number): Promise<void> => {
    const host = await HistoryHost.open(`host-${at}`, server.port)
    members.push(host)
    while (begun < histories) {
      begun += 1
      await run.history(host, seed + begun)
      if (random.chance(1 / killEvery)) await run.killServer(random)
    }
  }
  try {
    await Promise.all(Array.from({ length: hosts }, (_, at) => work(at)))
    return { ...run.counts, faults: await run.misplacedEvents(members) }
  } finally {
    await Promise.allSettled(members.map((host) => host.close()))
    await fleet.close()
    await server.remove()
  }
}

interface Story {
  isCut: boolean
  wanted: Wanted
  revision: number | null
  /** How the host was before this document; undefined when it had not come to rest. */
  before: Present | undefined
  /** Nothing has happened since the host was found to be as it must. */
  isSettled: boolean
  /** Date.now() of the last document, or of its end: without one, an older report looks the same. */
  changedAt: number
  readonly steps: string[]
}

/** The newest report of a host. */
interface Heard {
  readonly report: Report | undefined
  readonly next: PromiseWithResolvers<void>
}

/** The document is another one from now on. */
const change = (story: Story, wanted: Wanted, revision: number | null): void => {
  if (!story.isSettled) story.before = undefined
  Object.assign(story, { wanted, revision, isSettled: false, changedAt: Date.now() })
}

/** How the host would be kept is not known any more. */
const unsettle = (story: Story): void => {
  Object.assign(story, { before: undefined, isSettled: false })
}

class Run {
  readonly counts = { histories: 0, steps: 0, kills: 0, emptied: 0 }
  readonly #server: NatsServer
  readonly #fleet: FleetView
  readonly #stories = new Set<Story>()
  readonly #heard = new Map<string, Heard>()
  #bucket: Promise<KV> | undefined
  /** Documents are not stored while the server is away, so that the test knows which are. */
  #changing = new Set<Promise<unknown>>()
  #away: Promise<void> = Promise.resolve()

  constructor(server: NatsServer, fleet: FleetView) {
    this.#server = server
    this.#fleet = fleet
  }

  /** Hears the reports of all hosts. */
  async listen(): Promise<void> {
    this.#fleet.connection.subscribe('$KV.vps-actual.*', {
      callback: (_, message) => {
        const report = message.json<Report & { readonly host: string }>()
        const { next } = this.#heardOf(report.host)
        this.#heard.set(report.host, { report, next: Promise.withResolvers() })
        next.resolve()
      },
    })
    await this.#fleet.connection.flush()
  }

  #heardOf(host: string): Heard {
    const heard = this.#heard.get(host) ?? { report: undefined, next: Promise.withResolvers<void>() }
    this.#heard.set(host, heard)
    return heard
  }

  /** Throws with the seed and the steps. */
  async history(host: HistoryHost, seed: number): Promise<void> {
    const random = createRandom(seed)
    const story: Story = { wanted: NOTHING, revision: null, before: undefined, isSettled: false, changedAt: 0, steps: [], isCut: false }
    this.#stories.add(story)
    try {
      await host.end()
      await host.forget()
      await this.#store(() => this.#remove(host, story))
      host.begin()
      for (let left = 3 + random.integer(6); left > 0; left -= 1) await this.#step(host, random, story)
      await this.#judge(host, story)
    } catch (error) {
      throw new Error(`history ${seed} of ${host.name}: ${story.steps.join(', ')}`, { cause: error })
    } finally {
      this.#stories.delete(story)
    }
    this.counts.histories += 1
    this.counts.steps += story.steps.length
  }

  async #step(host: HistoryHost, random: Random, story: Story): Promise<void> {
    const dice = random.integer(100)
    if (dice < 40) {
      if (random.chance(0.4)) await this.#settleIfLinked(host, story)
      const wanted = randomWanted(random)
      const isRemoved = dice >= 34
      story.steps.push(isRemoved ? 'remove' : `${wanted.kind} ${documentOf(wanted)}`)
      await this.#store(() => (isRemoved ? this.#remove(host, story) : this.#put(host, wanted, story)))
    } else if (dice < 52) {
      const isCut = random.chance(0.5)
      story.steps.push(isCut ? 'cut' : 'heal')
      story.isCut = isCut
      if (isCut) host.link.block()
      else host.link.heal()
    } else if (dice < 60) {
      story.steps.push('restart')
      await host.end()
      if (random.chance(0.5)) await this.#step(host, random, story)
      if (!host.isRunning) host.begin()
    } else if (dice < 90) await this.#local(host, random, story)
    else {
      const ms = random.integer(150)
      story.steps.push(`${ms} ms`)
      await realPause(ms)
    }
  }

  /** A person changes something: while the document holds, so that nothing else brings it back, or at any other moment. */
  async #local(host: HistoryHost, random: Random, story: Story): Promise<void> {
    const isSettled = random.chance(0.7) && (await this.#settleIfLinked(host, story))
    const name = random.pick(Object.keys(LOCALS))
    const id = randomId(random)
    story.steps.push(`${isSettled ? 'settled ' : ''}${name} ${id}`)
    if (!isSettled && random.chance(0.5)) await realPause(random.integer(300))
    if (!host.isRunning) return
    const { wanted } = story
    await LOCALS[name]?.(host, id, random)
    if (!isSettled) return unsettle(story)
    story.isSettled = false
    const present = await presentOf(host)
    // Else the store was emptied meanwhile.
    if (story.wanted === wanted) story.before = present
    await this.#settle(host, story)
  }

  /** The store of KV buckets, which another client may have to create again. */
  #desired(): Promise<KV> {
    this.#bucket ??= new Kvm(jetstream(this.#fleet.connection, { timeout: 60_000 })).create('vps-desired')
    return this.#bucket
  }

  async #put(host: HistoryHost, wanted: Wanted, story: Story): Promise<void> {
    const revision = await (await this.#desired()).put(host.name, documentOf(wanted))
    change(story, wanted, revision)
  }

  async #remove(host: HistoryHost, story: Story): Promise<void> {
    await (await this.#desired()).delete(host.name)
    change(story, { ...NOTHING }, null)
  }

  async #store(work: () => Promise<void>): Promise<void> {
    for (let away: unknown; away !== this.#away; ) {
      away = this.#away
      await this.#away
    }
    const done = work()
    const noted = done.catch(() => {})
    this.#changing.add(noted)
    await done.finally(() => this.#changing.delete(noted))
  }

  /** Kills the server and starts it again, every third time with an empty store. */
  async killServer(random: Random): Promise<void> {
    const before = this.#away
    const back = Promise.withResolvers<void>()
    this.#away = before.then(() => back.promise)
    await before
    try {
      await Promise.all(this.#changing)
      await this.#server.kill()
      await realPause(random.integer(200))
      this.counts.kills += 1
      const empty = this.counts.kills % 3 === 0
      if (empty) {
        this.counts.emptied += 1
        this.#bucket = undefined
        for (const story of this.#stories) {
          story.steps.push('the store is emptied')
          if (story.revision !== null || story.wanted.kind === 'none') change(story, { ...NOTHING, kind: 'lost' }, null)
        }
      }
      await this.#server.start({ empty })
      await this.#connected()
    } finally {
      back.resolve()
    }
  }

  async #connected(): Promise<void> {
    while (
      !(await this.#fleet.connection.flush().then(
        () => this.#fleet.connection.isClosed() === false,
        () => false,
      ))
    )
      await realPause(10)
  }

  /** The host is left alone, with its link: it must come to be as is wanted. */
  async #judge(host: HistoryHost, story: Story): Promise<void> {
    // A link that is made anew brings the document again, which would hide that drift is not noticed.
    if (story.isCut) {
      story.isCut = false
      host.link.heal()
    }
    if (!host.isRunning) host.begin()
    await this.#settle(host, story)
  }

  async #settleIfLinked(host: HistoryHost, story: Story): Promise<boolean> {
    if (story.isCut || !host.isRunning) return false
    await this.#settle(host, story)
    return true
  }

  /** Waits until the host is as is wanted, and says so. */
  async #settle(host: HistoryHost, story: Story): Promise<void> {
    for (const end = realNow() + PATIENCE_MS; ; ) {
      const { wanted } = story
      const { report, next } = this.#heardOf(host.name)
      const present = await presentOf(host)
      const isOld = report === undefined || (story.revision === null && Date.parse(report.at) <= story.changedAt)
      const fault = isOld ? 'no new report' : faultOf(story, present, report)
      // The store may have been emptied between.
      if (fault === undefined && story.wanted === wanted) {
        story.before = present
        story.isSettled = true
        return
      }
      if (realNow() > end) throw new Error(fault)
      await Promise.race([next.promise, realPause(250)])
    }
  }

  /** Events that are in the stream twice, or not in the order of their host. */
  async misplacedEvents(members: readonly HistoryHost[]): Promise<readonly string[]> {
    const places = new Map(members.map(({ name, published }) => [name, new Map(published.map((id, at) => [id, at]))]))
    const last = new Map<string, { readonly at: number; readonly seq: number }>()
    const consumer = await jetstream(this.#fleet.connection, { timeout: 60_000 }).consumers.get('VPS_EVENTS', {
      filter_subjects: 'vps.events.*.*',
    })
    const faults: string[] = []
    for (let got = 1; got > 0; ) {
      got = 0
      for await (const message of await consumer.fetch({ max_messages: 5000, expires: 1000 })) {
        got += 1
        const [, , host = ''] = message.subject.split('.')
        const { id } = message.json<{ id: string }>()
        const at = places.get(host)?.get(id)
        // Of the start, before the test follows the events.
        if (at === undefined) continue
        const before = last.get(host)
        // A reader may be given a message again.
        if (before !== undefined && message.seq <= before.seq) continue
        if (before !== undefined && at <= before.at)
          faults.push(`${host}: ${id} (${at}) after ${before.at}, at ${message.seq} after ${before.seq}`)
        last.set(host, { at, seq: message.seq })
      }
    }
    return faults
  }
}
