import assert from 'node:assert/strict'
import { followSse } from '../api/sse-client.ts'
import { sleep } from '../bench/measure.ts'
import { type Service, startService } from '../process/service.ts'
import { createRandom, type Random } from '../random.ts'
import { until } from '../until.ts'
import { startWebhookReceiver, WEBHOOK_SECRET, type WebhookReceiver } from './webhook-receiver.ts'

/** An event that a kill follows so closely may not be stored yet, milliseconds: mostly the time until the test sees it. */
const STORED_AFTER_MS = 100
/** So many may wait for a receiver before no more are made: far from the bound of the queue. */
const MAX_BEHIND = 4000

interface StormOptions {
  readonly dataDir: string
  readonly events: number
  readonly kills: number
  readonly pipelines: number
  readonly seed: number
  /** Whether a receiver hangs, for 10 s each time. */
  readonly hangs: boolean
  /** Longest time that a receiver is away, milliseconds. */
  readonly awayMs: number
}

/** An event as a client of Server-Sent Events saw it. */
interface Seen {
  readonly id: string
  readonly at: number
  /** A kill followed within `STORED_AFTER_MS`. */
  isLate: boolean
}

/** What one receiver got. */
interface Tally {
  /** Ids that were taken. */
  readonly taken: Set<string>
  /** The newest event that was taken, by pipeline. */
  readonly newest: Map<string, string>
  repeats: number
  refused: number
  readonly faults: string[]
}

/** The order of two events, over restarts: `<start of the process>-<count>`. */
const comparable = (id: string): string => {
  const [process = '', count = ''] = id.split('-')
  return `${process.padStart(12, '0')}-${count.padStart(12, '0')}`
}

const take = (tally: Tally, id: string, pipeline: string, isSigned: boolean): void => {
  if (!isSigned) tally.faults.push(`${id} is not signed`)
  if (tally.taken.has(id)) {
    tally.repeats += 1
    return
  }
  tally.taken.add(id)
  const newest = tally.newest.get(pipeline)
  if (newest !== undefined && comparable(newest) > comparable(id)) tally.faults.push(`${id} of ${pipeline} after ${newest}`)
  tally.newest.set(pipeline, id)
}

/** A receiver that takes everything, or one that fails, hangs, redirects. */
const count = (receiver: WebhookReceiver, random: Random, trouble: number, hangs: readonly 'hang'[] = []): Tally => {
  const tally: Tally = { taken: new Set(), newest: new Map(), repeats: 0, refused: 0, faults: [] }
  receiver.react = ({ id, data, isSigned }) => {
    receiver.arrivals.length = 0
    if (random.chance(trouble)) {
      tally.refused += 1
      return random.pick([500, 503, 404, 302, ...hangs])
    }
    take(tally, id, data.id ?? data.pipeline_id, isSigned)
    return 204
  }
  return tally
}

/** Follows the events until the service is killed. */
const follow = async ({ url }: Service, seen: Map<string, Seen>): Promise<void> => {
  const client = followSse(await fetch(`${url}/svc/events`))
  // The present status of each pipeline comes first, with the id of the last event.
  let isPresent: string | undefined
  try {
    for (let block = await client.next(); block !== undefined; block = await client.next()) {
      const { id } = block
      if (id === undefined) continue
      isPresent ??= id
      if (id !== isPresent && !seen.has(id)) seen.set(id, { id, at: performance.now(), isLate: false })
    }
  } catch {
    // The service was killed.
  }
}

/** Events of pipelines through receivers in trouble, and a service that is killed: answers what arrived, and how. */
export const runWebhookStorm = async (options: StormOptions) => {
  const storm = new Storm(options, await startService({ dataDir: options.dataDir }))
  await storm.begin()
  await storm.run()
  return storm.end()
}

class Storm {
  readonly #options: StormOptions
  readonly #random: Random
  readonly #seen = new Map<string, Seen>()
  readonly #tallies = new Map<string, Tally>()
  readonly #receivers: WebhookReceiver[] = []
  #service: Service
  #following: Promise<void>
  #made = 0
  #isKilling = false

  constructor(options: StormOptions, service: Service) {
    this.#options = options
    this.#random = createRandom(options.seed)
    this.#service = service
    this.#following = follow(service, this.#seen)
  }

  async begin(): Promise<void> {
    for (const [name, trouble] of [
      ['steady', 0],
      ['troubled', 0.01],
      ['away', 0],
    ] as const) {
      const receiver = await startWebhookReceiver()
      this.#receivers.push(receiver)
      this.#tallies.set(name, count(receiver, this.#random, trouble, this.#options.hangs ? ['hang'] : []))
    }
    const webhooks = this.#receivers.map(({ url }) => ({ url, secret: WEBHOOK_SECRET }))
    assert.equal((await this.#service.request('PUT', '/svc/settings', { webhooks })).status, 200)
    for (const id of this.#ids()) {
      const body = { id, on_demand: true, source: { uri: 'test://ball' } }
      assert.equal((await this.#service.request('POST', '/svc/pipeline', body)).status, 201)
    }
  }

  async run(): Promise<void> {
    await Promise.all([...this.#ids().map((id) => this.#move(id)), this.#kill(), this.#leave()])
    await until(
      () => this.#missing(),
      (left) => left.every((number) => number === 0),
      900_000,
    )
  }

  async end() {
    const { seed, kills } = this.#options
    await this.#service.stop()
    for (const receiver of this.#receivers) await receiver.close()
    const late = [...this.#seen.values()].filter(({ isLate }) => isLate).map(({ id }) => id)
    const receivers = [...this.#tallies].map(([name, { taken, repeats, refused, faults }]) => {
      const lost = late.filter((id) => !taken.has(id)).length
      return { name, taken: taken.size, repeats, refused, lost_in_the_last_100_ms: lost, faults }
    })
    const dropped = this.#service.log.filter((line) => line.includes('events_dropped'))
    return { seed, seen: this.#seen.size, kills, seen_in_the_last_100_ms: late.length, dropped, receivers }
  }

  #ids(): readonly string[] {
    return Array.from({ length: this.#options.pipelines }, (_, at) => `p${at}`)
  }

  get #isOver(): boolean {
    return this.#seen.size >= this.#options.events
  }

  /** How many events the slowest receiver has not taken. */
  get #behind(): number {
    return this.#seen.size - Math.min(...[...this.#tallies.values()].map(({ taken }) => taken.size))
  }

  /** Each position of a pipeline is an event, unless another follows too soon. */
  async #move(id: string): Promise<void> {
    while (!this.#isOver) {
      if (this.#isKilling || this.#behind > MAX_BEHIND) {
        await sleep(50)
        continue
      }
      this.#made += 1
      const geolocation = { latitude: (this.#made % 90_000) / 1000, longitude: 1, altitude: null, heading: null }
      // A request that a kill cuts off is none.
      await this.#service.request('PATCH', `/svc/pipeline/${id}`, { geolocation }).catch(() => {})
    }
  }

  async #kill(): Promise<void> {
    const { kills, events, dataDir } = this.#options
    for (let killed = 0; killed < kills; killed += 1) {
      const at = ((killed + this.#random.next()) / kills) * events
      await until(
        () => this.#seen.size,
        (seen) => seen >= at,
        3_600_000,
      )
      this.#isKilling = true
      await this.#service.kill()
      const now = performance.now()
      await this.#following
      for (const event of this.#seen.values()) if (now - event.at < STORED_AFTER_MS) event.isLate = true
      this.#service = await startService({ dataDir })
      this.#following = follow(this.#service, this.#seen)
      this.#isKilling = false
    }
  }

  /** The last receiver goes away and comes back at the same port. */
  async #leave(): Promise<void> {
    const { awayMs } = this.#options
    const first = this.#receivers.at(-1)
    assert(first !== undefined)
    while (!this.#isOver) {
      await this.#receivers.pop()?.close()
      await sleep(this.#random.integer(awayMs))
      const back = await startWebhookReceiver({ port: first.port })
      back.react = (arrival) => {
        back.arrivals.length = 0
        return first.react(arrival)
      }
      this.#receivers.push(back)
      await sleep(this.#random.integer(2 * awayMs))
    }
  }

  /** How many events each receiver has not taken. */
  #missing(): readonly number[] {
    const due = [...this.#seen.values()].filter(({ isLate }) => !isLate)
    return [...this.#tallies.values()].map(({ taken }) => due.filter(({ id }) => !taken.has(id)).length)
  }
}
