import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { directoryError, openDataDirectory, readOrCreateApiKey } from '../../../../../handlers/node/storage/data-directory.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const file = () => join(folder, 'api-key')

describe('the API key', () => {
  it('is made once, and only its owner may read it', () => {
    const { key, created } = readOrCreateApiKey(folder)
    expect(created).toBe(true)
    expect(key).toMatch(/^[\w-]{43}$/)
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    expect(readOrCreateApiKey(folder)).toEqual({ key, file: file(), created: false })
    expect(readdirSync(folder)).toEqual(['api-key'])
  })

  it.each([
    ['an empty file', ''],
    ['zeros in place of the key', '\0'.repeat(44)],
    ['a line without a key', '\n'],
  ])('is made again where a power failure has left %s', (_name, text) => {
    writeFileSync(file(), text)
    const { key, created } = readOrCreateApiKey(folder)
    expect(created).toBe(true)
    expect(readFileSync(file(), 'utf8')).toBe(`${key}\n`)
  })

  it.each([
    ['short', 'a'],
    ['more than one line', `${'a'.repeat(20)}\n${'b'.repeat(20)}\n`],
  ])('is refused when it is %s, and stays as it is', (_name, text) => {
    writeFileSync(file(), text)
    expect(() => readOrCreateApiKey(folder)).toThrow(`${file()} holds no API key`)
    expect(readFileSync(file(), 'utf8')).toBe(text)
  })

  it('that somebody wrote is used, and a half-written one is not', () => {
    writeFileSync(`${file()}.new`, 'half', { mode: 0o644 })
    writeFileSync(file(), 'a-key-of-my-own-choice\n')
    expect(readOrCreateApiKey(folder).key).toBe('a-key-of-my-own-choice')
    rmSync(file())
    expect(readOrCreateApiKey(folder).created).toBe(true)
    expect(statSync(file()).mode & 0o777).toBe(0o600)
  })
})

describe('a data directory', () => {
  it('that was open to others is closed to them', () => {
    const path = join(folder, 'data')
    mkdirSync(path)
    chmodSync(path, 0o777)
    expect(openDataDirectory(path)).toBe(path)
    expect(statSync(path).mode & 0o777).toBe(0o700)
  })

  it('is made with the folders on the way, for its owner alone', () => {
    const path = join(folder, 'on', 'the', 'way')
    expect(openDataDirectory(path)).toBe(path)
    expect(openDataDirectory(path)).toBe(path)
    expect([path, join(folder, 'on')].map((each) => statSync(each).mode & 0o777)).toEqual([0o700, 0o700])
  })

  it('that cannot be made is refused', () => {
    expect(() => openDataDirectory('/proc/video/data')).toThrow('set SVC_DATA_DIR to another one')
    symlinkSync(join(folder, 'nowhere'), join(folder, 'link'))
    for (const path of ['link', 'link/data']) expect(() => openDataDirectory(join(folder, path))).toThrow('leads nowhere')
  })

  it('that is a file is named, with what to do', () => {
    writeFileSync(file(), '')
    const message = `${file()} cannot be used: it is not a folder. Remove the file, or set SVC_DATA_DIR to another one`
    expect(() => openDataDirectory(file())).toThrow(message)
  })

  it.each([
    ['EROFS', 'read-only'],
    ['ENOENT', 'Mount its disk'],
    ['ENOSPC', 'Free space'],
    ['EACCES', 'Change its owner'],
    ['ENAMETOOLONG', 'SVC_DATA_DIR'],
  ])('has a message for the operator for %s', (code, advice) => {
    const error = directoryError('/data', Object.assign(new Error(`${code}: as the system says`), { code }))
    expect(String(error)).toMatch(new RegExp(`the data directory /data cannot be used.*${advice}`))
  })

  it('leaves other errors as they are', () => {
    const error = new Error('another service process uses it')
    expect(directoryError('/data', error)).toBe(error)
  })
})
