import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openService } from '../../handlers/node/service.ts'
import { type Configuration, readConfiguration } from '../../lib/configuration/configuration.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { silentLog } from '../helpers/rtsp/media.ts'

it('a service whose data directory cannot be used says which one, and what to do', async () => {
  const file = join(temporaryDataDir(), 'a-file')
  writeFileSync(file, '')
  const configuration = readConfiguration({ SVC_DATA_DIR: file, SVC_DASHBOARD: '0' }) as Configuration
  const told = `the data directory ${file} cannot be used`
  await expect(openService(configuration, { log: silentLog })).rejects.toThrow(told)
  await expect(openService(configuration, { log: silentLog })).rejects.toThrow('set SVC_DATA_DIR to another one')
})

it('a service whose database cannot be opened leaves the data directory free for another attempt', async () => {
  const dataDir = temporaryDataDir()
  const configuration = readConfiguration({ SVC_DATA_DIR: dataDir, SVC_DASHBOARD: '0' }) as Configuration
  const file = join(dataDir, 'service.db')
  writeFileSync(file, 'this is no database '.repeat(100))
  await expect(openService(configuration, { log: silentLog })).rejects.toThrow(/database/)
  rmSync(file)
  const service = await openService(configuration, { log: silentLog })
  await service.stop()
})
