import { describe, expect, it } from 'vitest'
import { Authenticator } from '../../../../../engine/rtsp/access/authenticator.ts'
import { FailedAttempts } from '../../../../../engine/rtsp/access/failed-attempts.ts'
import { RtspHeaders, type RtspRequest } from '../../../../../engine/rtsp/protocol/message.ts'
import { basic, digest } from '../../../../helpers/rtsp/credentials.ts'
import { silentLog } from '../../../../helpers/rtsp/media.ts'

const URL_OF_CAM = 'rtsp://10.0.0.2:8554/cam'
const PASSWORD = 'eight or more'

const setUp = () => {
  const logged: unknown[] = []
  let nowMs = 1000
  const log = { ...silentLog, info: (event: string, fields: unknown) => void logged.push({ event, fields }) }
  const authenticator = new Authenticator({ log, failuresPerMinute: 3, nowMs: () => nowMs })
  authenticator.require({ username: 'viewer', password: PASSWORD })
  return {
    authenticator,
    logged,
    wait: (ms: number) => {
      nowMs += ms
    },
    gate: (address = '10.0.0.9', secure = false) => authenticator.gate({ address, secure }),
  }
}

const request = (...authorization: readonly string[]): RtspRequest => {
  const headers = new RtspHeaders()
  for (const value of authorization) headers.append('Authorization', value)
  return { kind: 'request', method: 'DESCRIBE', url: URL_OF_CAM, version: '1.0', headers, body: Buffer.alloc(0) }
}

type Gate = ReturnType<Authenticator['gate']>

const challengesOf = (gate: Gate, ...authorization: readonly string[]) =>
  (gate.refuse(request(...authorization))?.headers['WWW-Authenticate'] ?? []) as readonly string[]

const answer = (gate: Gate, password = PASSWORD, options = {}) =>
  digest({ password, ...options })(challengesOf(gate), 'DESCRIBE', URL_OF_CAM)

describe('a nonce', () => {
  it('is valid for five minutes; then only the right password learns that it is stale', () => {
    const { gate, wait } = setUp()
    const one = gate()
    const [right, wrong] = [answer(one), answer(one, 'guessed it')]
    wait(5 * 60_000)
    expect(one.refuse(request(right))).toBeUndefined()
    wait(1)
    expect(challengesOf(one, right)[0]).toContain('stale=true')
    expect(challengesOf(one, wrong)[0]).not.toContain('stale')
  })

  it('is not counted as a failure when it is stale', () => {
    const { gate, logged } = setUp()
    const right = answer(gate())
    for (let times = 0; times < 10; times += 1) expect(gate().refuse(request(right))?.status).toBe(401)
    expect(logged).toEqual([])
  })

  it('is forgotten after the eighth that follows', () => {
    const one = setUp().gate()
    const right = answer(one)
    for (let times = 0; times < 7; times += 1) challengesOf(one)
    expect(one.refuse(request(right))).toBeUndefined()
    challengesOf(one)
    expect(challengesOf(one, right)[0]).toContain('stale=true')
  })

  it('never repeats', () => {
    const one = setUp().gate()
    const nonces = Array.from({ length: 100 }, () => /nonce="([^"]+)"/.exec(challengesOf(one)[0] ?? '')?.[1])
    expect(new Set(nonces).size).toBe(100)
  })

  it('needs a count that increases', () => {
    const one = setUp().gate()
    const challenges = challengesOf(one)
    const client = digest({ password: PASSWORD, qop: true, algorithm: 'SHA-256' })
    const [first, second] = [client(challenges, 'DESCRIBE', URL_OF_CAM), client(challenges, 'DESCRIBE', URL_OF_CAM)]
    expect(one.refuse(request(second))).toBeUndefined()
    for (const again of [second, first]) expect(challengesOf(one, again)[0]).toContain('stale=true')
  })
})

describe('right credentials', () => {
  it.each([
    ['rtsp://10.0.0.2:8554/another', 401],
    ['/another', 401],
    ['', 401],
    ['http://10.0.0.2/cam', 401],
    ['/cam', undefined],
    ['rtsp://viewer@other.test/cam?a=b', undefined],
    [`${URL_OF_CAM}/track0`, undefined],
  ])('are right for the mount, however it is written, and for no other: %j', (uri, status) => {
    const one = setUp().gate()
    expect(one.refuse(request(answer(one, PASSWORD, { uri })))?.status).toBe(status)
  })

  it('are taken as Basic inside TLS alone', () => {
    const { gate } = setUp()
    const right = basic(PASSWORD)([], 'DESCRIBE', URL_OF_CAM)
    expect(gate('10.0.0.9', true).refuse(request(right))).toBeUndefined()
    expect(gate('10.0.0.9', false).refuse(request(right))?.status).toBe(401)
    expect(gate('10.0.0.9', true).refuse(request(basic(PASSWORD, 'guest')([], '', '')))?.status).toBe(401)
  })
})

describe('failures', () => {
  it('are remembered of so many addresses, and first forgotten of the one whose last is the oldest', () => {
    const failures = new FailedAttempts(1, 2)
    for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.1', '10.0.0.3']) failures.add(address, 0)
    expect(['10.0.0.1', '10.0.0.2', '10.0.0.3'].map((address) => failures.waitMs(address, 0))).toEqual([60_000, 0, 60_000])
  })

  it('are counted per address for a minute', () => {
    const { gate, wait } = setUp()
    const fail = (address: string) => gate(address).refuse(request('Basic x'))
    expect(fail('10.0.0.9')).toMatchObject({ status: 401, close: false })
    wait(30_000)
    expect(fail('10.0.0.9')).toMatchObject({ status: 401, close: false })
    expect(fail('10.0.0.9')).toMatchObject({ status: 401, close: true })
    const right = gate('10.0.0.9')
    expect(right.refuse(request(answer(right)))).toMatchObject({ status: 503, headers: { 'Retry-After': 30 }, close: true })
    expect(right.refuse(request())).toMatchObject({ status: 401 })
    const other = gate('10.0.0.10')
    expect(other.refuse(request(answer(other)))).toBeUndefined()
    wait(30_000)
    expect(right.refuse(request(answer(right)))).toBeUndefined()
  })

  it('are counted together for an IPv6 /64', () => {
    const { gate } = setUp()
    for (const host of ['1', '2', '3']) gate(`2001:db8::${host}`).refuse(request('Basic x'))
    expect(gate('2001:db8::4').refuse(request('Basic x'))).toMatchObject({ status: 503 })
    expect(gate('2001:db8:0:1::4').refuse(request('Basic x'))).toMatchObject({ status: 401 })
  })

  it('tell the log the address and the method, and nothing that was sent', () => {
    const { gate, logged } = setUp()
    const one = gate()
    one.refuse(request(answer(one, 'guessed it')))
    expect(logged).toEqual([{ event: 'rtsp_credentials_refused', fields: { remote: '10.0.0.9', method: 'DESCRIBE', closed: false } }])
  })

  it('are two Authorization headers, also when one is right', () => {
    const one = setUp().gate()
    const right = answer(one)
    expect(one.refuse(request(right, right))?.status).toBe(401)
  })
})

describe('the credentials', () => {
  it('are new when name or password differ, and not when they are sent again or removed', () => {
    const { authenticator } = setUp()
    expect(authenticator.require({ username: 'viewer', password: PASSWORD })).toBe(false)
    expect(authenticator.require({ username: 'guest', password: PASSWORD })).toBe(true)
    expect(authenticator.require({ username: 'guest', password: 'another one' })).toBe(true)
    expect(authenticator.require(undefined)).toBe(false)
    expect(authenticator.require({ username: 'guest', password: 'another one' })).toBe(true)
  })

  it('are not asked for when there are none', () => {
    const { authenticator, gate } = setUp()
    authenticator.require(undefined)
    expect(gate().refuse(request())).toBeUndefined()
  })
})
