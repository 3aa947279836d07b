import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EngineDoor } from '../../../../lib/engine/engine-availability.ts'
import { useFakeTimers } from '../../../helpers/fake-timers.ts'

const ENGINE = { url: 'http://127.0.0.1:1', token: 'first' }
const NEXT = { url: 'http://127.0.0.1:1', token: 'second' }
const REFUSED = { code: 'SERVICE_UNAVAILABLE', details: { reason: 'engine_unavailable' } }

beforeEach(() => {
  useFakeTimers()
})
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe('the way to the engine', () => {
  it('is open while the engine is there', async () => {
    const door = new EngineDoor()
    door.open(ENGINE)
    expect(await door.enter()).toBe(ENGINE)
    expect(door.address()).toBe(ENGINE)
  })

  it('is shut at once while none is expected', async () => {
    await expect(new EngineDoor().enter()).rejects.toMatchObject(REFUSED)
  })

  it('keeps callers waiting until the engine comes', async () => {
    const door = new EngineDoor()
    door.expect(5000)
    const entered = [door.enter(), door.enter()]
    await vi.advanceTimersByTimeAsync(4999)
    expect(door.waiting).toBe(2)
    door.open(ENGINE)
    expect(await Promise.all(entered)).toEqual([ENGINE, ENGINE])
    expect(door.waiting).toBe(0)
  })

  it('refuses who waited when the time is over, and everybody after that until the engine is there', async () => {
    const door = new EngineDoor()
    door.expect(5000)
    const entered = expect(door.enter()).rejects.toMatchObject(REFUSED)
    await vi.advanceTimersByTimeAsync(5000)
    await entered
    await expect(door.enter()).rejects.toMatchObject(REFUSED)
    door.open(ENGINE)
    expect(await door.enter()).toBe(ENGINE)
  })

  it('lets no more than 256 wait', async () => {
    const door = new EngineDoor()
    door.expect(5000)
    const entered = Array.from({ length: 256 }, () => door.enter())
    await expect(door.enter()).rejects.toMatchObject(REFUSED)
    door.open(ENGINE)
    expect(await Promise.all(entered)).toHaveLength(256)
  })

  it('lets nobody wait while the service ends', async () => {
    const door = new EngineDoor()
    door.expect(5000)
    const entered = expect(door.enter()).rejects.toMatchObject(REFUSED)
    door.stopWaiting()
    await entered
    door.expect(5000)
    await expect(door.enter()).rejects.toMatchObject(REFUSED)
  })

  it('stays open for running requests while the service ends', async () => {
    const door = new EngineDoor()
    door.open(ENGINE)
    door.stopWaiting()
    expect(await door.enter()).toBe(ENGINE)
  })
})

describe('the engine after one that was lost', () => {
  it('is waited for', async () => {
    const door = new EngineDoor()
    door.open(ENGINE)
    const next = door.hasNext(ENGINE)
    await vi.advanceTimersByTimeAsync(20)
    door.expect(5000)
    await vi.advanceTimersByTimeAsync(400)
    door.open(NEXT)
    expect(await next).toBe(true)
  })

  it('may have come already', async () => {
    const door = new EngineDoor()
    door.open(NEXT)
    expect(await door.hasNext(ENGINE)).toBe(true)
  })

  it('does not come while the present one is there', async () => {
    const door = new EngineDoor()
    door.open(ENGINE)
    const next = door.hasNext(ENGINE)
    await vi.advanceTimersByTimeAsync(1000)
    expect(await next).toBe(false)
  })

  it('is not the same one found again', async () => {
    const door = new EngineDoor()
    door.expect(5000)
    const next = door.hasNext(ENGINE)
    door.open({ ...ENGINE })
    expect(await next).toBe(false)
  })

  it('may not come in time', async () => {
    const door = new EngineDoor()
    door.expect(5000)
    const next = door.hasNext(ENGINE)
    await vi.advanceTimersByTimeAsync(5000)
    expect(await next).toBe(false)
  })
})
