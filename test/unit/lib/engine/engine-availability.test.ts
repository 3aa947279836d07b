import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EngineAvailability } from '../../../../lib/engine/engine-availability.ts'

const ENGINE = { url: 'http://127.0.0.1:1', token: 'first' }
const NEXT = { url: 'http://127.0.0.1:1', token: 'second' }
const REFUSED = { code: 'SERVICE_UNAVAILABLE', details: { reason: 'engine_unavailable' } }

let availability: EngineAvailability

beforeEach(() => {
  vi.useFakeTimers()
  availability = new EngineAvailability()
})
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

const expectRefusal = (answer = availability.untilAvailable()) => expect(answer).rejects.toMatchObject(REFUSED)

describe('the availability of the engine', () => {
  it('lets at most 256 calls wait until an expected engine comes', async () => {
    await expectRefusal()
    availability.expect(5000)
    const calls = Array.from({ length: 256 }, () => availability.untilAvailable())
    await vi.advanceTimersByTimeAsync(4999)
    await expectRefusal()
    expect(availability.waiting).toBe(256)
    availability.setAvailable(ENGINE)
    expect([await Promise.all(calls), availability.waiting, availability.address()]).toEqual([Array(256).fill(ENGINE), 0, ENGINE])
  })

  it('refuses waiting calls when the time is over, and all after that until the engine is there', async () => {
    availability.expect(5000)
    const refused = expectRefusal()
    await vi.advanceTimersByTimeAsync(5000)
    await refused
    await expectRefusal()
    availability.setAvailable(ENGINE)
    expect(await availability.untilAvailable()).toBe(ENGINE)
  })

  it('lets no call wait while the service ends, and lets calls through as long as the engine is there', async () => {
    availability.expect(5000)
    const refused = expectRefusal()
    availability.refuseToWait()
    await refused
    availability.expect(5000)
    await expectRefusal()
    availability.setAvailable(ENGINE)
    availability.refuseToWait()
    expect(await availability.untilAvailable()).toBe(ENGINE)
  })
})

describe('an engine that ended', () => {
  it.each([
    ['is replaced when another one comes in time', [{ after: 20 }, { after: 400, engine: NEXT }], true],
    ['is replaced when another one is there already', [{ after: 0, engine: NEXT }], true],
    ['has not ended while it stays', [], false],
    ['is not replaced when it is found again', [{ after: 20 }, { after: 400, engine: { ...ENGINE } }], false],
    ['is not replaced when none comes in time', [{ after: 20 }], false],
  ])('%s', async (_title, course: readonly { readonly after: number; readonly engine?: typeof ENGINE }[], expected) => {
    availability.setAvailable(ENGINE)
    const replaced = availability.isReplaced(ENGINE)
    for (const { after, engine } of course) {
      await vi.advanceTimersByTimeAsync(after)
      if (engine === undefined) availability.expect(5000)
      else availability.setAvailable(engine)
    }
    await vi.advanceTimersByTimeAsync(5000)
    expect(await replaced).toBe(expected)
  })
})
