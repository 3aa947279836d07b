import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '../../../db/open.ts'

let migrated: Promise<Buffer> | undefined

/** A new database in a file. Its schema is that of the first one: to run the migrations again takes ten times as long. */
export const openEmptyDatabase = async (file: string): Promise<Database> => {
  migrated ??= migrate()
  writeFileSync(file, await migrated)
  return openDatabase({ url: `file:${file}` })
}

const migrate = async (): Promise<Buffer> => {
  const folder = mkdtempSync(join(tmpdir(), 'migrated-'))
  const file = join(folder, 'service.db')
  await (await openDatabase({ url: `file:${file}` })).close()
  const bytes = readFileSync(file)
  rmSync(folder, { recursive: true, force: true })
  return bytes
}
