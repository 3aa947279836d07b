import { describe, expect, it } from 'vitest'
import { requestFault, statusFault } from '../../../../engine/faults/network-faults.ts'

const never = new AbortController().signal
const aborted = AbortSignal.abort(new Error('stopped'))
const request = { source: 'rtsp://h/x', protocol: 'RTSP', signal: never, deadline: never, timeoutMs: 5000 } as const
const socketError = (code: string): Error => Object.assign(new Error(code), { code })

describe('requestFault', () => {
  it.each([
    ['a refused connection', socketError('ECONNREFUSED'), 'unreachable', 'refuses the connection'],
    ['several refused addresses of one name', new AggregateError([socketError('EHOSTUNREACH')]), 'unreachable', 'no route'],
    ['a self-signed certificate', socketError('DEPTH_ZERO_SELF_SIGNED_CERT'), 'source_error', 'cannot be verified'],
    ['an expired certificate', socketError('CERT_HAS_EXPIRED'), 'source_error', 'cannot be verified'],
    ['a certificate of another name', socketError('ERR_TLS_CERT_ALTNAME_INVALID'), 'source_error', 'cannot be verified'],
    ['another protocol', new Error('Parse Error'), 'source_error', 'does not answer in RTSP'],
  ])('classifies %s', (_what, error, reason, message) => {
    expect(requestFault(error, request)).toMatchObject({ reason, message: expect.stringContaining(message) })
  })

  it('is a timeout after the deadline, and the reason itself when the request was cancelled', () => {
    expect(requestFault(aborted.reason, { ...request, deadline: aborted })).toMatchObject({
      reason: 'timeout',
      message: 'rtsp://h/x did not answer within 5 s.',
    })
    expect(requestFault(aborted.reason, { ...request, signal: aborted, deadline: aborted })).toBe(aborted.reason)
  })
})

describe('statusFault', () => {
  it.each([
    [401, false, 'unauthorized', 'requires a user name and password'],
    [401, true, 'unauthorized', 'rejects the user name or password'],
    [403, true, 'unauthorized', 'does not allow this user'],
    [410, false, 'not_found', 'There is no stream'],
    [503, false, 'source_error', 'answered with an error (503)'],
    [454, false, 'source_error', 'rejected the request (454)'],
  ])('classifies %i (credentials: %s) as %s', (status, hasCredentials, reason, message) => {
    expect(statusFault(status, 'rtsp://h/x', hasCredentials)).toMatchObject({ reason, message: expect.stringContaining(message) })
  })

  it('is undefined for success', () => {
    expect(statusFault(204, 'rtsp://h/x', false)).toBeUndefined()
  })
})
