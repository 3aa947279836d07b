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
  it('answers at once while the engine is there, and while none is expected', async () => {
    await expectRefusal()
    availability.setAvailable(ENGINE)
    expect(await availability.untilAvailable()).toBe(ENGINE)
    expect(availability.address()).toBe(ENGINE)
  })

  it('keeps calls waiting until the engine comes', async () => {
    availability.expect(5000)
    const calls = [availability.untilAvailable(), availability.untilAvailable()]
    await vi.advanceTimersByTimeAsync(4999)
    expect(availability.waiting).toBe(2)
    availability.setAvailable(ENGINE)
    expect(await Promise.all(calls)).toEqual([ENGINE, ENGINE])
    expect(availability.waiting).toBe(0)
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

  it('lets no more than 256 calls wait', async () => {
    availability.expect(5000)
    const calls = Array.from({ length: 256 }, () => availability.untilAvailable())
    await expectRefusal()
    availability.setAvailable(ENGINE)
    expect(await Promise.all(calls)).toHaveLength(256)
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
