import { describe, expect, it } from 'vitest'
import type { Screenshot } from '../../../../engine/screenshots/decode/screenshot-decoder.ts'
import { Snapshots } from '../../../../engine/screenshots/snapshots.ts'
import { ApiError } from '../../../../lib/errors.ts'

describe('snapshots', () => {
  const screenshot = (frameMs: number): Screenshot => ({ jpeg: Buffer.from([frameMs & 0xff]), width: 2, height: 2, frameMs, mediaMs: 0 })

  it('are decoded once for concurrent requests, and again after a second', async () => {
    let now = 1000
    let decoded = 0
    const gate = Promise.withResolvers<void>()
    const snapshots = new Snapshots(
      {
        decode: async () => {
          decoded += 1
          await gate.promise
          return screenshot(decoded)
        },
      },
      () => now,
    )
    const many = Array.from({ length: 200 }, () => snapshots.take({ quality: 85, width: null }))
    gate.resolve()
    const [first, ...others] = await Promise.all(many)
    expect(decoded).toBe(1)
    for (const other of others) expect(other).toBe(first)
    now += 999
    expect(await snapshots.take({ quality: 85, width: null })).toBe(first)
    expect((await snapshots.take({ quality: 84, width: null })).etag).not.toBe(first?.etag)
    expect(decoded).toBe(2)
    now += 1
    expect(await snapshots.take({ quality: 85, width: null })).not.toBe(first)
    expect(decoded).toBe(3)
  })

  it('do not cache a failure', async () => {
    let decoded = 0
    const snapshots = new Snapshots({
      decode: async () => {
        decoded += 1
        if (decoded === 1) throw new ApiError('ENGINE_ERROR', 'no')
        return screenshot(decoded)
      },
    })
    await expect(snapshots.take({ quality: 85, width: null })).rejects.toThrow('no')
    expect(await snapshots.take({ quality: 85, width: null })).toMatchObject({ frameMs: 2 })
  })
})
