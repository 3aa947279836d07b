import { isDatabaseBusy } from '../lib/errors.ts'
import type { CredentialRepository, PipelineRecord, PipelineRepository } from '../lib/repositories/repositories.ts'

/**
 * Repositories that read from memory and write to the database first. Only for the only writer of a database: they do not see what
 * another process writes.
 */

/** `count` still reads the database, for health; it fails when the pipelines cannot be read. */
export const keepPipelinesInMemory = (stored: PipelineRepository): PipelineRepository => {
  const records = once(async () => new Map((await stored.list()).map((record) => [record.config.id, record])))
  const amend = async (id: string, change: Partial<PipelineRecord>): Promise<void> => {
    const known = await records()
    const record = known.get(id)
    if (record !== undefined) known.set(id, { ...record, ...change })
  }
  const write = async (id: string, change: Partial<PipelineRecord>, written: Promise<boolean>): Promise<boolean> => {
    const done = await written
    if (done) await amend(id, change)
    return done
  }
  return {
    list: async () => [...(await records()).values()],
    count: async () => {
      await records()
      return stored.count()
    },
    find: async (id) => (await records()).get(id),
    insert: async (record) => {
      const known = await records()
      await stored.insert(record)
      known.set(record.config.id, record)
    },
    replace: async (id, change) => write(id, change, stored.replace(id, change)),
    setGeolocation: (id, geolocation, updated_at) =>
      write(id, { geolocation, updated_at }, stored.setGeolocation(id, geolocation, updated_at)),
    // Kept also when it cannot be written, so that pipelines can be played and stopped on a full disk. A lock of another program passes.
    setDesired: (id, desired, stopped = false) =>
      write(id, { desired, stopped }, stored.setDesired(id, desired, stopped)).catch(async (error: unknown) => {
        if (!isDatabaseBusy(error)) await amend(id, { desired, stopped })
        throw error
      }),
    setScreenshots: (id, screenshots) => write(id, { screenshots }, stored.setScreenshots(id, screenshots)),
    setRecording: (id, recording) => write(id, { recording }, stored.setRecording(id, recording)),
    remove: async (id) => {
      const known = await records()
      const removed = await stored.remove(id)
      known.delete(id)
      return removed
    },
  }
}

/** The hash of the password, which every request reads. */
export const keepCredentialInMemory = (stored: CredentialRepository): CredentialRepository => {
  const memory = { hash: once(() => stored.find()) }
  const afterwards = (hash: string | undefined): void => {
    memory.hash = async () => hash
  }
  return {
    find: () => memory.hash(),
    set: async (hash, updatedAt) => {
      await stored.set(hash, updatedAt)
      afterwards(hash)
    },
    clear: async () => {
      await stored.clear()
      afterwards(undefined)
    },
  }
}

/** Loads at the first call; a failed load is repeated at the next call. */
const once = <T>(load: () => Promise<T>): (() => Promise<T>) => {
  let loaded: Promise<T> | undefined
  return () => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined
      throw error
    })
    return loaded
  }
}
