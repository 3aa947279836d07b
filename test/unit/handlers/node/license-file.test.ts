import { mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createLicenseFile } from '../../../../handlers/node/license-file.ts'

const setUp = (text: string) => {
  const folder = mkdtempSync(join(tmpdir(), 'license-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'license.json')
  writeFileSync(path, text)
  const read = vi.fn((file: string) => readFile(file, 'utf8'))
  const clock = { now: Date.now() + 60_000 }
  return { path, reads: read.mock.calls, clock, source: createLicenseFile(path, { read, now: () => clock.now }) }
}

describe('the license file', () => {
  it('is read once while it does not change, and at once when it was written, replaced or given an older time', async () => {
    const { source, path, reads } = setUp('one')
    for (let count = 0; count < 10; count += 1) expect(await source.read()).toBe('one')
    writeFileSync(path, 'two')
    expect(await source.read()).toBe('two')
    writeFileSync(`${path}.new`, 'six')
    const { atime, mtime } = statSync(path)
    utimesSync(`${path}.new`, atime, mtime)
    renameSync(`${path}.new`, path)
    expect(await source.read()).toBe('six')
    expect(await source.read()).toBe('six')
    expect(reads).toHaveLength(3)
  })

  it('is read again while it is so new that a second write would leave the same times', async () => {
    const { source, clock, path, reads } = setUp('one')
    clock.now = statSync(path).ctimeMs + 500
    await source.read()
    await source.read()
    expect(reads).toHaveLength(2)
    clock.now += 10_000
    await source.read()
    await source.read()
    expect(reads).toHaveLength(3)
  })

  it('cannot be read after it was removed, although it was known', async () => {
    const { source, path } = setUp('one')
    await source.read()
    rmSync(path)
    await expect(source.read()).rejects.toThrow('ENOENT')
    writeFileSync(path, 'new')
    expect(await source.read()).toBe('new')
  })

  it('is null when none is configured', async () => {
    expect(await createLicenseFile(undefined).read()).toBeNull()
  })
})
