import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '@libsql/client'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../../db/open.ts'
import { createPipelineRepository } from '../../../db/pipelines.ts'
import { pipelineRecord } from '../../helpers/fakes/pipeline-record.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'

const open = async () => {
  const url = pathToFileURL(join(temporaryDataDir(), 'service.db')).href
  const [database, other] = [await openDatabase({ url }), createClient({ url, timeout: 0 })]
  onTestFinished(async () => {
    other.close()
    await database.close()
  })
  return { pipelines: createPipelineRepository(database), other }
}

it('a write waits for the lock of another program between other work, and writes keep their order', async () => {
  const { pipelines, other } = await open()
  await pipelines.insert(pipelineRecord('cam'))
  const lock = await other.transaction('write')
  const written = [pipelines.setDesired('cam', 'ready', true), pipelines.setDesired('cam', 'playing')]
  expect(await pipelines.find('cam')).toMatchObject({ desired: 'playing', stopped: false })
  await new Promise((resolve) => setTimeout(resolve, 300))
  await lock.rollback()
  expect(await Promise.all(written)).toEqual([true, true])
  expect((await other.execute('SELECT desired, stopped FROM pipelines')).rows[0]).toMatchObject({ desired: 'playing', stopped: 0 })
})

it('a write that is refused after 5 s does nothing later, and the next one is stored and locks nobody out', async () => {
  const { pipelines, other } = await open()
  await pipelines.insert(pipelineRecord('cam'))
  const lock = await other.transaction('write')
  const begun = performance.now()
  await expect(pipelines.setDesired('cam', 'ready', true)).rejects.toMatchObject({ details: { reason: 'database_busy' } })
  expect(performance.now() - begun).toBeGreaterThan(4900)
  await lock.rollback()
  expect(await pipelines.setScreenshots('cam', { interval_seconds: 5, quality: 50 })).toBe(true)
  const stored = { desired: 'playing', stopped: 0, screenshots: '{"interval_seconds":5,"quality":50}' }
  expect((await other.execute('SELECT desired, stopped, screenshots FROM pipelines')).rows[0]).toMatchObject(stored)
  expect((await other.execute("UPDATE pipelines SET desired = 'ready'")).rowsAffected).toBe(1)
})
