import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createAnnouncement } from '../../../../engine/http/announcement.ts'
import { processStart } from '../../../../engine/sandbox/leftovers.ts'
import { temporaryDataDir } from '../../../helpers/process/temporary-data-dir.ts'

const ADDRESS = { url: 'http://127.0.0.1:1', token: 'secret', pid: 1, started: undefined, version: '0' }

it('an engine tells where it is until it ends', () => {
  const folder = temporaryDataDir()
  const announcement = createAnnouncement(folder)
  expect(announcement.write(ADDRESS)).toBeUndefined()
  expect(JSON.parse(readFileSync(join(folder, 'engine.json'), 'utf8'))).toMatchObject({ url: ADDRESS.url })
  expect(announcement.remove()).toBeUndefined()
  expect(() => readFileSync(join(folder, 'engine.json'))).toThrow('ENOENT')
})

it('an engine that ends does not remove what a later one tells', () => {
  const folder = temporaryDataDir()
  const [earlier, later] = [createAnnouncement(folder), createAnnouncement(folder)]
  earlier.write(ADDRESS)
  later.write({ ...ADDRESS, url: 'http://127.0.0.1:2' })
  expect(earlier.remove()).toBeUndefined()
  expect(JSON.parse(readFileSync(join(folder, 'engine.json'), 'utf8'))).toMatchObject({ url: 'http://127.0.0.1:2' })
})

it('an engine sees that another one that runs uses the data directory', () => {
  const folder = temporaryDataDir()
  const announcement = createAnnouncement(folder)
  const isTakenBy = (pid: number, started: string | undefined): boolean => {
    announcement.write({ ...ADDRESS, pid, started })
    return createAnnouncement(folder).isTaken()
  }
  expect(announcement.isTaken()).toBe(false)
  expect(isTakenBy(process.ppid, processStart(process.ppid))).toBe(true)
  expect(isTakenBy(process.ppid, 'the pid was of another process')).toBe(false)
  expect(isTakenBy(process.ppid, undefined)).toBe(false)
  expect(isTakenBy(process.pid, processStart('self'))).toBe(false)
})
