import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openQueue } from '../../db/webhooks/open-queue.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import type { SettingsRepository } from '../../lib/repositories/repositories.ts'
import type { WebhookQueue } from '../../lib/repositories/webhook-queue.ts'
import { readSettings } from '../../lib/settings/settings.ts'
import { Webhooks } from '../../lib/webhooks/webhooks.ts'
import type { AppDeps } from '../app.ts'

/** Time between two looks at settings that other processes may change, or that could not be read, milliseconds. */
const LOOK_EVERY_MS = 10_000

interface WebhookDeps {
  readonly deps: AppDeps
  readonly dataDir: string
  /** Whether other processes change the settings too. */
  readonly sharedDatabase: boolean
  /** Ends the look at the settings. */
  readonly signal: AbortSignal
}

/** The webhooks of a service, which follow its settings. */
export interface ServiceWebhooks extends Pick<Webhooks, 'isFollowing' | 'hasDropped' | 'end'> {
  /** Reads the settings, and follows them. Settles when events are followed, or the settings cannot be read (attempts continue). */
  begin(): Promise<void>
  /** The settings were changed. */
  onSettings(): void
}

export const createServiceWebhooks = ({ deps, dataDir, sharedDatabase, signal }: WebhookDeps): ServiceWebhooks => {
  const { log, settings } = deps
  const webhooks = new Webhooks({ ...deps, feed: deps.events.feed, openQueue: () => openQueueIn(dataDir, log) })
  let timer: ReturnType<typeof setTimeout> | undefined
  const attempt = async (): Promise<boolean> => {
    try {
      await webhooks.configure((await readSettings(settings)).webhooks)
      return true
    } catch (error) {
      log.error('webhooks_failed', { error: messageOf(error), retry_in_seconds: LOOK_EVERY_MS / 1000 })
      return false
    }
  }
  const look = async (): Promise<void> => {
    const isRead = await attempt()
    clearTimeout(timer)
    if (!signal.aborted && (sharedDatabase || !isRead)) timer = setTimeout(read, LOOK_EVERY_MS)
  }
  // One after the other: the newest settings are taken last.
  let turn: Promise<void> = Promise.resolve()
  const read = (): Promise<void> => {
    turn = turn.then(look)
    return turn
  }
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
  return {
    begin: read,
    onSettings: () => void read(),
    end: () => webhooks.end(),
    get isFollowing() {
      return webhooks.isFollowing
    },
    get hasDropped() {
      return webhooks.hasDropped
    },
  }
}

/** A repository that notifies of every change it makes. */
export const notifySettings = (settings: SettingsRepository, notify: () => void): SettingsRepository => ({
  ...settings,
  write: async (...change) => {
    await settings.write(...change)
    notify()
  },
})

/** The queue in the data directory; a file that is damaged, or of another version, is replaced. */
const openQueueIn = async (dataDir: string, log: Log): Promise<WebhookQueue> => {
  const file = join(dataDir, 'webhooks.db')
  const url = pathToFileURL(file).href
  const found = await openQueue(url)
  if (found !== false) return found
  log.error('webhook_queue_replaced', { reason: 'the stored events are damaged, or of another version; those that waited are lost' })
  for (const each of [file, `${file}-wal`, `${file}-shm`]) rmSync(each, { force: true })
  const made = await openQueue(url)
  if (made === false) throw new Error('the file of the events that wait for webhooks cannot be made')
  return made
}
