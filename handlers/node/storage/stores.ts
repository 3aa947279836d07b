import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createCredentialRepository } from '../../../db/credential.ts'
import { checkDatabase, type Database, openDatabase } from '../../../db/open.ts'
import { createPipelineRepository } from '../../../db/pipelines.ts'
import { createSessionRepository } from '../../../db/sessions.ts'
import { createSettingsRepository } from '../../../db/settings.ts'
import { keepCredentialInMemory, keepPipelinesInMemory } from '../../../db/write-through.ts'
import { ensurePassword, requireStoredPassword } from '../../../lib/access/initial-password.ts'
import type { Configuration } from '../../../lib/configuration/configuration.ts'
import type { Clock, Log, PasswordHasher } from '../../../lib/ports.ts'
import { openDataDirectory, readOrCreateApiKey } from './data-directory.ts'
import { takeDatabaseLock, takeInstanceLock } from './instance-lock.ts'

interface StoresOptions {
  /** Asks the process that uses the data directory to hand over. */
  readonly takeOver: boolean
  /** Another process asks for the data directory. */
  readonly onHandover: () => void
  readonly hasher: PasswordHasher
  readonly clock: Clock
  readonly log: Log
}

export type Stores = Awaited<ReturnType<typeof openStores>>

/**
 * Opens data directory and database, with the API key and the password of the configuration. Throws when they are in use or unusable,
 * and leaves nothing open then. `close` closes the database, then lets other processes use the data directory.
 */
export const openStores = async (configuration: Configuration, options: StoresOptions) => {
  const dataDir = openDataDirectory(configuration.dataDir)
  const databaseOptions = databaseOf(configuration, dataDir)
  // The other process must not stop for one that cannot go on.
  if (options.takeOver) {
    const stored = await checkDatabase(databaseOptions, (database) => createCredentialRepository(database).find())
    await requireStoredPassword(configuration, { find: async () => stored })
  }
  await using opened = new AsyncDisposableStack()
  const lock = await takeInstanceLock(dataDir, options)
  opened.defer(() => lock.release())
  const apiKey = configuration.apiKey ?? readOrCreateApiKey(dataDir).key
  if (databaseOptions.url.startsWith('file:')) {
    const databaseLock = takeDatabaseLock(databaseOptions.url)
    opened.defer(() => databaseLock.release())
  }
  const database = await openDatabase(databaseOptions)
  opened.defer(() => database.close())
  const repositories = repositoriesOf(database, !databaseOptions.url.startsWith('file:'))
  await ensurePassword(configuration, { ...options, credentials: repositories.credentials })
  const toClose = opened.move()
  const freeBytes = async (): Promise<number> => {
    const { bavail, bsize } = await statfs(dataDir)
    return bavail * bsize
  }
  return { dataDir, apiKey, repositories, freeBytes, close: () => toClose.disposeAsync() }
}

const databaseOf = ({ databaseUrl, databaseAuthToken }: Configuration, dataDir: string) => ({
  url: databaseUrl ?? pathToFileURL(join(dataDir, 'service.db')).href,
  ...(databaseAuthToken !== undefined && { authToken: databaseAuthToken }),
})

/** A file is written by this process only, so reads come from memory; a server may have other writers. */
const repositoriesOf = (database: Database, sharedDatabase: boolean) => {
  const pipelines = createPipelineRepository(database)
  const credentials = createCredentialRepository(database)
  return {
    sharedDatabase,
    pipelines: sharedDatabase ? pipelines : keepPipelinesInMemory(pipelines),
    credentials: sharedDatabase ? credentials : keepCredentialInMemory(credentials),
    settings: createSettingsRepository(database),
    sessions: createSessionRepository(database),
    writeState: () => database.writeState(),
  }
}
