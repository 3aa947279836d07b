import type { CameraWatch } from '../events/cameras.ts'
import type { EventFeed } from '../events/feed.ts'
import type { ApiEvent } from '../events/replay-buffer.ts'
import type { Upstreams } from '../events/upstreams.ts'
import { within } from '../pause.ts'
import type { Clock, Log } from '../ports.ts'
import type { PipelineRepository } from '../repositories/repositories.ts'
import type { WebhookQueue } from '../repositories/webhook-queue.ts'
import type { Webhook } from '../schema/event.ts'
import { followKlvOfAll, type KlvOfAll } from './klv-of-all.ts'
import { Outbox } from './outbox.ts'
import { Receiver } from './receiver.ts'
import { receiverKeys } from './receiver-keys.ts'

/** For what waits to be stored when the service ends, milliseconds. */
const END_WITHIN_MS = 2000
/** Lane of the events of cameras; no pipeline id has a blank. */
const CAMERAS = ' cameras'
/** Health shows for this time that events were dropped, milliseconds. */
const SHOW_DROPS_MS = 24 * 3_600_000

interface WebhooksOptions {
  readonly feed: Pick<EventFeed, 'subscribe'>
  readonly cameraWatch: Pick<CameraWatch, 'begin'>
  readonly klvUpstreams: Upstreams
  readonly pipelines: Pick<PipelineRepository, 'list'>
  /** Called once, when there is a webhook. */
  readonly openQueue: () => Promise<WebhookQueue>
  readonly clock: Clock
  readonly log: Log
}

interface Opened {
  readonly queue: WebhookQueue
  readonly outbox: Outbox
}

/** Delivers the events of the service to the receivers of `settings.webhooks`. */
export class Webhooks {
  readonly #options: WebhooksOptions
  readonly #klv: KlvOfAll
  readonly #receivers = new Map<string, Receiver>()
  #opened: Opened | undefined
  #unsubscribe: (() => void) | undefined
  #seq = 0
  #ended = false
  #turn: Promise<void> = Promise.resolve()

  constructor(options: WebhooksOptions) {
    this.#options = options
    this.#klv = followKlvOfAll(options.klvUpstreams, options.pipelines)
  }

  /** Whether it follows the events. */
  get isFollowing(): boolean {
    return this.#unsubscribe !== undefined
  }

  /** Whether an event was dropped in the last 24 hours. */
  get hasDropped(): boolean {
    const since = this.#options.clock.now() - SHOW_DROPS_MS
    return [...this.#receivers.values()].some(({ droppedAt = 0 }) => droppedAt > since)
  }

  /** Takes the receivers of the settings, one change after the other. Rejects when the queue cannot be opened; another call tries again. */
  configure(webhooks: readonly Webhook[]): Promise<void> {
    const configured = this.#turn.then(() => this.#configure(webhooks))
    this.#turn = configured.catch(() => {})
    return configured
  }

  /** Ends all requests, and stores what waits. */
  async end(): Promise<void> {
    this.#ended = true
    this.#unsubscribe?.()
    for (const receiver of this.#receivers.values()) receiver.end()
    await this.#turn
    if (this.#opened === undefined) return
    const { outbox, queue } = this.#opened
    // Not longer: another program may hold the file.
    await within(outbox.close(), END_WITHIN_MS)
    await queue.close()
  }

  async #configure(webhooks: readonly Webhook[]): Promise<void> {
    if (this.#ended || (webhooks.length === 0 && this.#receivers.size === 0)) return
    const wanted = await receiverKeys(webhooks)
    if (this.#opened === undefined) this.#opened = await this.#open(wanted)
    if (this.#ended) return
    for (const [key, receiver] of this.#receivers) if (!wanted.has(key)) this.#remove(key, receiver)
    for (const [key, webhook] of wanted) this.#take(key, webhook, this.#opened)
    this.#follow(webhooks)
    await this.#klv.follow(webhooks.some(({ events }) => events.includes('klv')))
  }

  /** The queue with what waits for the receivers; what waits for others is removed. */
  async #open(wanted: ReadonlyMap<string, Webhook>): Promise<Opened> {
    const queue = await this.#options.openQueue()
    const outbox = new Outbox({ queue, log: this.#options.log, onOverflow: (seq) => this.#giveUp(seq) })
    const opened = { queue, outbox }
    const stored = await queue.list().catch(async (error: unknown) => {
      await queue.close()
      throw error
    })
    outbox.load(stored)
    for (const [key, webhook] of wanted) this.#take(key, webhook, opened)
    for (const { receiver, ...event } of stored) {
      this.#seq = Math.max(this.#seq, event.seq)
      const known = this.#receivers.get(receiver)
      if (known === undefined) outbox.done(receiver, event.seq)
      else known.add(event)
    }
    return opened
  }

  #take(key: string, webhook: Webhook, { outbox }: Opened): void {
    const known = this.#receivers.get(key)
    if (known !== undefined) {
      known.update(webhook)
      return
    }
    const { clock, log } = this.#options
    const receiver = new Receiver({ webhook, clock, log, body: (seq) => outbox.body(seq), onDone: (seq) => outbox.done(key, seq) })
    this.#receivers.set(key, receiver)
  }

  #remove(key: string, receiver: Receiver): void {
    this.#receivers.delete(key)
    receiver.end()
    receiver.forget()
  }

  /** The engine is asked for events of cameras from the first receiver of them on. */
  #follow(webhooks: readonly Webhook[]): void {
    if (webhooks.length === 0) {
      this.#unsubscribe?.()
      this.#unsubscribe = undefined
      return
    }
    this.#unsubscribe ??= this.#options.feed.subscribe({ onEvent: (event) => this.#onEvent(event), onEnd: () => {} })
    const wantsCameras = webhooks.some(({ events }) => events.some((event) => event.startsWith('camera_')))
    // Attempts continue after a failed one.
    if (wantsCameras) this.#options.cameraWatch.begin().catch(() => {})
  }

  #onEvent(event: ApiEvent): void {
    this.#klv.onEvent(event)
    const wanting = [...this.#receivers].filter(([, receiver]) => receiver.wants(event.event))
    if (wanting.length === 0 || this.#opened === undefined) return
    this.#seq += 1
    const at = this.#options.clock.now()
    const queued = { seq: this.#seq, id: event.id, lane: event.pipelineId ?? CAMERAS, at }
    const body = JSON.stringify({ type: event.event, timestamp: new Date(at).toISOString(), data: event.data })
    this.#opened.outbox.add(
      { ...queued, body },
      wanting.map(([key]) => key),
      event.event === 'klv',
    )
    for (const [, receiver] of wanting) receiver.add(queued)
  }

  #giveUp(seq: number): void {
    for (const receiver of this.#receivers.values()) receiver.drop(seq, 'not_stored')
  }
}
