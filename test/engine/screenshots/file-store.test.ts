import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { screenshotAnswers } from '../../../engine/http/screenshots.ts'
import { FileStore, type Retention } from '../../../engine/screenshots/files/file-store.ts'
import { takeDescriptors } from '../../helpers/process/descriptors.ts'
import { silentLog } from '../../helpers/rtsp/media.ts'

const JPEG = execFileSync('gst-launch-1.0', [
  '-q',
  ...'videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=64,height=48 ! jpegenc ! fdsink fd=1'.split(' '),
])
const BASE = Date.parse('2026-11-20T10:00:00.000Z')
const GEOLOCATION = { latitude: 60.5, longitude: -128.25, altitude: 12.5, heading: null }

const folderOf = (): string => {
  const parent = mkdtempSync(join(tmpdir(), 'files-'))
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  return join(parent, 'screenshots')
}
const storeIn = (folder: string, retention: Partial<Retention> = {}): FileStore =>
  new FileStore({ folder, retention: () => ({ max_files: 100, max_megabytes: 10, ...retention }), log: silentLog })
const screenshot = (at: number, more: { pipelineId?: string; geolocation?: typeof GEOLOCATION | null } = {}) => ({
  pipelineId: 'cam-1',
  createdAt: BASE + at,
  jpeg: JPEG,
  width: 64,
  height: 48,
  geolocation: null,
  ...more,
})
const read = async (store: FileStore, name: string): Promise<Buffer> => {
  const { handle } = await store.openFile(name)
  try {
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

describe('the store of screenshot files', () => {
  it('lists the stored files, and the same ones after a restart', async () => {
    const folder = folderOf()
    const store = storeIn(folder)
    const record = await store.put(screenshot(0, { geolocation: GEOLOCATION }))
    expect(record).toEqual({
      file: 'cam-1_20261120T100000000Z.jpg',
      pipeline_id: 'cam-1',
      created_at: '2026-11-20T10:00:00.000Z',
      size_bytes: statSync(join(folder, record.file)).size,
      width: 64,
      height: 48,
      geolocation: GEOLOCATION,
    })
    await store.put(screenshot(1, { pipelineId: 'other' }))
    const listed = await store.list({ limit: 10 })
    expect(listed).toHaveLength(2)
    expect(await storeIn(folder).list({ limit: 10 })).toEqual(listed)
    expect(await storeIn(folder).list({ limit: 10, pipelineId: 'cam-1' })).toEqual([record])
    expect(await read(store, record.file)).toEqual(readFileSync(join(folder, record.file)))
  })

  it('keeps times unique, so that pages neither overlap nor skip files', async () => {
    const store = storeIn(folderOf())
    const ids = ['a', 'b', 'c', 'd', 'e']
    const records = await Promise.all(ids.map((pipelineId) => store.put(screenshot(0, { pipelineId }))))
    expect(new Set(records.map(({ created_at }) => created_at)).size).toBe(5)
    expect(Math.max(...records.map(({ created_at }) => Date.parse(created_at) - BASE))).toBe(4)
  })

  it('fills a page that would lack files deleted by hand, since a short page is the last one', async () => {
    const folder = folderOf()
    const before = storeIn(folder)
    const records = []
    for (let at = 0; at < 6; at += 1) records.push(await before.put(screenshot(at)))
    const store = storeIn(folder)
    await store.list({ limit: 1 })
    for (const at of [3, 4]) rmSync(join(folder, records[at]?.file ?? ''))
    const times = (await store.list({ limit: 3 })).map(({ created_at }) => Date.parse(created_at) - BASE)
    expect(times).toEqual([5, 2, 1])
    expect(await store.list({ limit: 10 })).toHaveLength(4)
  })

  it('deletes the oldest files beyond the limits of number and size', async () => {
    const folder = folderOf()
    const limits = { max_files: 3, max_megabytes: 10 }
    const store = storeIn(folder, limits)
    for (let at = 0; at < 5; at += 1) await store.put(screenshot(at))
    await store.trim()
    const names = (): string[] => readdirSync(folder).sort()
    expect(names().map((name) => name.slice(-8, -4))).toEqual(['002Z', '003Z', '004Z'])
    const lowered = storeIn(folder, { max_megabytes: JPEG.length * 1.5e-6 })
    await lowered.trim()
    expect(names().map((name) => name.slice(-8, -4))).toEqual(['004Z'])
    expect(await lowered.list({ limit: 10 })).toHaveLength(1)
  })

  it('deletes partial files of a crashed process, and keeps files of others', async () => {
    const folder = folderOf()
    mkdirSync(folder)
    writeFileSync(join(folder, 'cam-1_20261120T100000000Z.jpg.part'), 'half')
    writeFileSync(join(folder, 'notes.txt'), 'mine')
    mkdirSync(join(folder, 'cam-1_20261120T100000001Z.jpg'))
    expect(await storeIn(folder).list({ limit: 10 })).toEqual([])
    expect(readdirSync(folder).sort()).toEqual(['cam-1_20261120T100000001Z.jpg', 'notes.txt'])
  })

  it('lists a file that is not a JPEG without metadata', async () => {
    const folder = folderOf()
    mkdirSync(folder)
    writeFileSync(join(folder, 'cam-1_20261120T100000000Z.jpg'), 'not a JPEG at all')
    expect(await storeIn(folder).list({ limit: 1 })).toMatchObject([{ size_bytes: 17, width: null, height: null, geolocation: null }])
  })

  it('follows no link out of its folder, whether old or new', async () => {
    const folder = folderOf()
    mkdirSync(folder)
    const secret = join(folder, '..', 'secret')
    writeFileSync(secret, 'secret')
    symlinkSync(secret, join(folder, 'cam-1_20261120T100000000Z.jpg'))
    const store = storeIn(folder)
    expect(await store.list({ limit: 10 })).toEqual([])
    await expect(store.openFile('cam-1_20261120T100000000Z.jpg')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const { file } = await store.put(screenshot(5))
    rmSync(join(folder, file))
    symlinkSync(secret, join(folder, file))
    await expect(store.openFile(file)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await store.list({ limit: 10 })).toEqual([])
    expect(readFileSync(secret, 'utf8')).toBe('secret')
  })

  it.each(['..', '../secret', '/etc/passwd', 'cam-1_20261120T100000000Z.jpg/../../secret', '\0', '', 'x'.repeat(10_000)])(
    'has no file %j',
    async (name) => {
      const store = storeIn(folderOf())
      await store.put(screenshot(0))
      await expect(store.openFile(name)).rejects.toMatchObject({ code: 'NOT_FOUND' })
      await expect(store.remove(name)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    },
  )

  it('deletes one file, or all of a pipeline', async () => {
    const folder = folderOf()
    const store = storeIn(folder)
    const { file } = await store.put(screenshot(0))
    for (let at = 1; at < 40; at += 1) await store.put(screenshot(at, { pipelineId: at % 2 === 0 ? 'cam-1' : 'cam-2' }))
    await store.remove(file)
    await expect(store.remove(file)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await store.removeOf('cam-1')).toBe(19)
    expect(await store.removeOf('cam-1')).toBe(0)
    expect(readdirSync(folder)).toHaveLength(20)
    expect(await store.list({ limit: 100 })).toHaveLength(20)
  })

  it('says so when a file cannot be read for want of descriptors, and reads it afterwards', async () => {
    const store = storeIn(folderOf())
    const { file } = await store.put(screenshot(0))
    const answers = screenshotAnswers({ supervisor: {} as never, files: store })
    const giveBack = takeDescriptors()
    const failure = await answers.read(file).catch((error: unknown) => error)
    giveBack()
    expect(failure).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'too_many_open_files' } })
    const { handle } = await store.openFile(file)
    await handle.close()
  })

  it('blames the disk for no other mistake', async () => {
    const list = () => Promise.reject(new TypeError('a mistake of ours'))
    const answers = screenshotAnswers({ supervisor: {} as never, files: { list } as never })
    await expect(answers.list({ limit: 1 })).rejects.toThrow(TypeError)
  })

  it('creates its folder again after it was removed, and continues after a disk error', async () => {
    const folder = folderOf()
    const store = storeIn(folder)
    await store.put(screenshot(0))
    renameSync(folder, `${folder}-away`)
    await store.put(screenshot(1))
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'a file where the folder was')
    await expect(store.put(screenshot(2))).rejects.toMatchObject({ code: 'ENOTDIR' })
    rmSync(folder)
    const { file } = await store.put(screenshot(3))
    expect(readdirSync(folder)).toEqual([file])
  })
})
