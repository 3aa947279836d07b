import { jetstream } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { createRandom, type Random } from '../random.ts'
import { realNow, realPause } from './fast-time.ts'
import { type FleetView, openFleetView } from './fleet.ts'
import { documentOf, faultOf, LOCALS, NOTHING, presentOf, randomId, randomWanted, type Wanted } from './history.ts'
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
  readonly steps: string[]
}

class Run {
  readonly counts = { histories: 0, steps: 0, kills: 0, emptied: 0 }
  readonly #server: NatsServer
  readonly #fleet: FleetView
  readonly #stories = new Set<Story>()
  /** Documents are not stored while the server is away, so that the test knows which are. */
  #changing = new Set<Promise<unknown>>()
  #away: Promise<void> = Promise.resolve()

  constructor(server: NatsServer, fleet: FleetView) {
    this.#server = server
    this.#fleet = fleet
  }

  /** Throws with the seed and the steps. */
  async history(host: HistoryHost, seed: number): Promise<void> {
    const random = createRandom(seed)
    const story: Story = { wanted: NOTHING, revision: null, steps: [], isCut: false }
    this.#stories.add(story)
    try {
      await host.end()
      await host.forget()
      await this.#store(() => this.#remove(host, story))
      host.begin()
      for (let left = 3 + random.integer(10); left > 0; left -= 1) await this.#step(host, random, story)
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
    if (dice < 35) {
      const wanted = randomWanted(random)
      story.steps.push(`${wanted.kind} ${documentOf(wanted)}`)
      await this.#store(() => this.#put(host, wanted, story))
    } else if (dice < 40) {
      story.steps.push('remove')
      await this.#store(() => this.#remove(host, story))
    } else if (dice < 50) {
      const isCut = random.chance(0.5)
      story.steps.push(isCut ? 'cut' : 'heal')
      story.isCut = isCut
      if (isCut) host.link.block()
      else host.link.heal()
    } else if (dice < 58) {
      story.steps.push('restart')
      await host.end()
      if (random.chance(0.5)) await this.#step(host, random, story)
      if (!host.isRunning) host.begin()
    } else if (dice < 85) {
      const name = random.pick(Object.keys(LOCALS))
      const id = randomId(random)
      story.steps.push(`${name} ${id}`)
      // Else most changes come before the last document is applied.
      if (random.chance(0.5)) await realPause(random.integer(300))
      if (host.isRunning) await LOCALS[name]?.(host, id, random)
    } else {
      const ms = random.integer(150)
      story.steps.push(`${ms} ms`)
      await realPause(ms)
    }
  }

  /** The store of KV buckets, which another client may have to create again. */
  async #desired() {
    return new Kvm(jetstream(this.#fleet.connection, { timeout: 60_000 })).create('vps-desired')
  }

  async #put(host: HistoryHost, wanted: Wanted, story: Story): Promise<void> {
    story.revision = await (await this.#desired()).put(host.name, documentOf(wanted))
    story.wanted = wanted
  }

  async #remove(host: HistoryHost, story: Story): Promise<void> {
    await (await this.#desired()).delete(host.name)
    story.revision = null
    story.wanted = NOTHING
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
        for (const story of this.#stories) {
          story.steps.push('the store is emptied')
          if (story.revision !== null || story.wanted.kind === 'none')
            Object.assign(story, { wanted: { ...NOTHING, kind: 'lost' }, revision: null })
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
    if (story.isCut) host.link.heal()
    if (!host.isRunning) host.begin()
    const since = Date.now()
    const end = realNow() + PATIENCE_MS
    for (;;) {
      const { wanted, revision } = story
      const report = await this.#fleet.actual(host.name)
      const isOld = report === undefined || Date.parse(report.at) <= since
      const fault = isOld ? 'no new report' : faultOf(wanted, revision, await presentOf(host), report)
      // The store may have been emptied between.
      if (fault === undefined && story.wanted === wanted) return
      if (realNow() > end) throw new Error(fault)
      await realPause(15)
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
