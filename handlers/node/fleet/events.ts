import { errors } from '@nats-io/transport-node'
import { Backoff } from '../../../lib/backoff.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { ApiEvent } from '../../../lib/events/replay-buffer.ts'
import { EVENT_STREAM, eventSubject } from '../../../lib/fleet/names.ts'
import { pause } from '../../../lib/pause.ts'
import type { Log } from '../../../lib/ports.ts'
import { hasNoStream, mayMissStream, type Stores } from '../nats/stores.ts'
import type { EventsFile, WaitingEvent } from './events-file.ts'
import type { Linked } from './linked.ts'

/** The newest events that wait for the link. */
const MAX_WAITING = 10_000
/** Their characters, so that long ones take no more memory. */
const MAX_CHARACTERS = 33_554_432
/** Events that wait for longer are saved, milliseconds. */
const SAVE_AFTER_MS = 1000
const RETRY = { initial_delay_ms: 100, max_delay_seconds: 2 }

interface Options {
  readonly host: string
  readonly file: EventsFile
  readonly log: Log
}

/**
 * The events of this host on their way into the stream of the fleet. One is sent after the other has been stored, so they are in order
 * whatever fails between; and before one is sent again, the stream is asked whether it has it.
 */
export class FleetEvents {
  readonly #options: Options
  #waiting: WaitingEvent[] = []
  #characters = 0
  /** Of the first ones, how many are in the file. */
  #saved = 0
  #lastSent: string | undefined
  #dropped = 0
  /** The id of an event that may be in the stream already. */
  #unsure: string | undefined
  #added = Promise.withResolvers<void>()
  #saving: Promise<void> = Promise.resolve()
  /** Nothing is saved by itself before: what is in the file then would be taken twice. */
  #isRestored = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #fileFault: string | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** Takes the events that the last process left; they come before all others. Throws when the file cannot be read. */
  restore(): Promise<void> {
    const restored = this.#saving
      .then(() => this.#restore())
      .finally(() => {
        this.#isRestored = true
        if (this.#waiting.length > 0) this.#saveSoon()
      })
    this.#saving = restored.catch(() => {})
    return restored
  }

  async #restore(): Promise<void> {
    const left = await this.#options.file.read()
    this.#unsure = left[0]?.id
    this.#waiting = [...left, ...this.#waiting]
    this.#saved = left.length
    this.#characters += left.reduce((sum, { text }) => sum + text.length, 0)
    this.#bound()
    this.#added.resolve()
  }

  add({ id, event, data }: ApiEvent): void {
    const text = JSON.stringify({ id, event, data })
    this.#waiting.push({ id, event, text })
    this.#characters += text.length
    this.#bound()
    this.#added.resolve()
    this.#saveSoon()
  }

  #bound(): void {
    while (this.#waiting.length > MAX_WAITING || this.#characters > MAX_CHARACTERS) {
      this.#shift()
      this.#dropped += 1
    }
  }

  #shift(): void {
    const [first] = this.#waiting.splice(0, 1)
    this.#characters -= first?.text.length ?? 0
    this.#saved = Math.max(0, this.#saved - 1)
  }

  /** Sends what waits and what comes, until the connection is lost. */
  async send(linked: Linked): Promise<void> {
    const { signal } = linked
    const backoff = new Backoff()
    const left = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    while (!signal.aborted) {
      const [next] = this.#waiting
      if (next === undefined) {
        this.#added = Promise.withResolvers()
        await Promise.race([this.#added.promise, left])
      } else if (await this.#isStored(next, linked)) {
        backoff.reset()
        this.#noteSent(next)
      } else await pause(backoff.next(RETRY), signal)
    }
  }

  #noteSent({ id }: WaitingEvent): void {
    this.#unsure = undefined
    this.#lastSent = id
    // It may have been dropped meanwhile.
    if (this.#waiting[0]?.id === id) this.#shift()
    if (this.#dropped > 0) this.#options.log.warn('fleet_events_dropped', { events: this.#dropped })
    this.#dropped = 0
  }

  /** Stores an event; false when that failed. */
  async #isStored(event: WaitingEvent, { stores, create, signal }: Linked): Promise<boolean> {
    const subject = eventSubject(this.#options.host, event.event)
    const wasUnsure = this.#unsure === event.id
    try {
      if (wasUnsure && (await hasLast(stores, subject, this.#messageId(event)))) return true
      this.#unsure = event.id
      await stores.js.publish(subject, event.text, { msgID: this.#messageId(event) })
      return true
    } catch (error) {
      if (signal.aborted) return false
      if (hasNoStream(error) && !wasUnsure) this.#unsure = undefined
      if (mayMissStream(error)) await create()
      else this.#options.log.debug('fleet_event_not_sent', { error: messageOf(error) })
      return false
    }
  }

  #messageId({ id }: WaitingEvent): string {
    return `${this.#options.host}:${id}`
  }

  #saveSoon(): void {
    if (!this.#isRestored) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.save().then(() => {
        if (this.#waiting.length > 0 || !this.#options.file.isEmpty) this.#saveSoon()
      })
    }, SAVE_AFTER_MS).unref()
  }

  /** Writes what still waits to the file, or clears it. */
  save(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#write())
    return this.#saving
  }

  async #write(): Promise<void> {
    const { file, log } = this.#options
    const added = this.#waiting.slice(this.#saved)
    this.#saved = this.#waiting.length
    try {
      if (this.#waiting.length === 0) await file.clear()
      else if (file.isLong || this.#fileFault !== undefined) file.replace(this.#waiting)
      else await file.append(added, this.#lastSent)
      this.#fileFault = undefined
    } catch (error) {
      const fault = messageOf(error)
      if (fault !== this.#fileFault) log.warn('fleet_events_not_saved', { error: fault })
      this.#fileFault = fault
    }
    this.#lastSent = undefined
  }
}

/** Whether the newest event of a subject is this one: the one that was sent last is, if it has arrived. */
const hasLast = async ({ jsm }: Stores, subject: string, messageId: string): Promise<boolean> => {
  const last = await jsm.direct.getMessage(EVENT_STREAM, { last_by_subj: subject }).catch((error: unknown) => {
    // No such subject, or a stream that answers no such requests: the id of the message decides.
    if (error instanceof errors.TimeoutError) throw error
    return null
  })
  return last?.header.get('Nats-Msg-Id') === messageId
}
