import { describe, expect, it } from 'vitest'
import { cannotCarry, pushFault } from '../../../../engine/push/faults.ts'

const PLAIN = { tls: false }
const FAILED = { exitCode: 255, signal: null, missing: false }

/** What the sinks of GStreamer 1.22 print, and what becomes of it. */
const PRINTED = [
  ['WARNING: erroneous pipeline: no element "rtspclientsink"', 'missing_element', 'apt-get install gstreamer1.0-rtsp'],
  [
    'ERROR: from element /GstPipeline:pipeline0/GstSRTSink:srtsink0: Failed to write to SRT socket: Error on SRT socket: Connection timeout',
    'unreachable',
    'does not answer',
  ],
  [
    'ERROR: from element /GstPipeline:pipeline0/GstSRTSink:srtsink0: Failed to write to SRT socket: Error on SRT socket: Unknown or erroneous',
    'unreachable',
    'was lost',
  ],
  [
    'ERROR: from element /GstPipeline:pipeline0/GstRtmp2Sink:rtmp2sink0: Connection refused: Could not connect to 127.0.0.1: Connection refused',
    'unreachable',
    'refuses the connection',
  ],
  ['ERROR: from element /GstPipeline:pipeline0/GstRtmp2Sink:rtmp2sink0: Failed to connect: Socket I/O timed out', 'timeout', 'hangs'],
  [
    "ERROR: from element /GstPipeline:pipeline0/GstRtmp2Sink:rtmp2sink0: Failed to connect: 'publish' cmd failed: connection closed remotely",
    'unauthorized',
    'the key is wrong',
  ],
  [
    "ERROR: from element /GstPipeline:pipeline0/GstRtmp2Sink:rtmp2sink0: Failed to connect: 'connect' cmd failed: connection closed remotely",
    'not_found',
    'RTMP application',
  ],
  [
    'ERROR: from element /GstPipeline:pipeline0/GstRtmp2Sink:rtmp2sink0: Failed to connect: Short read (want 3073 have 309)',
    'source_error',
    'another protocol',
  ],
  [
    'ERROR: from element /GstPipeline:pipeline0/GstRtmp2Sink:rtmp2sink0: Connection error: connection closed remotely',
    'unreachable',
    'stream key',
  ],
  ['ERROR: from element /GstPipeline:pipeline0/GstRTSPClientSink:out: Resource not found.', 'not_found', '404'],
  [
    'ERROR: from element /GstPipeline:pipeline0/GstRTSPClientSink:out: Could not open resource for reading and writing.',
    'unreachable',
    'cannot be reached',
  ],
  ['Got error response: 415 (Unsupported Media Type).', 'source_error', 'answers 415 (Unsupported Media Type)'],
  ['Unauthorized (401)', 'unauthorized', 'user name and password'],
  ['ERROR: from element /GstPipeline:pipeline0/GstX:x: Something odd', 'crashed', 'Something odd'],
] as const

describe('the fault of a push', () => {
  for (const [line, reason, words] of PRINTED)
    it(`is ${reason} after: ${line.slice(-60)}`, () => {
      expect(pushFault(FAILED, ['Setting up', line], PLAIN)).toMatchObject({ reason, message: expect.stringContaining(words) })
    })

  it('is what came first, not the answer to what rtspclientsink sends after it', () => {
    const lines = ['Got error response: 415 (Unsupported Media Type).', 'Got error response: 454 (Session Not Found).']
    expect(pushFault(FAILED, lines, PLAIN)).toMatchObject({ reason: 'source_error', message: expect.stringContaining('415') })
  })

  it('may be the certificate of a receiver over TLS that cannot be reached, since rtspclientsink does not tell', () => {
    const line = 'Failed to connect. (Generic error)'
    expect(pushFault(FAILED, [line], PLAIN).message).not.toContain('certificate')
    expect(pushFault(FAILED, [line], { tls: true })).toMatchObject({
      reason: 'unreachable',
      message: expect.stringContaining('add its certificate authority to this host'),
    })
  })

  it('is an end when the process ended well, a crash when it was killed, and says that GStreamer is missing', () => {
    expect(pushFault({ exitCode: 0, signal: null, missing: false }, [], PLAIN).reason).toBe('ended')
    expect(pushFault({ exitCode: 0, signal: null, missing: false }, ['ERROR: from element /GstX:x: Odd'], PLAIN).reason).toBe('crashed')
    expect(pushFault({ exitCode: null, signal: 'SIGKILL', missing: false }, [], PLAIN).message).toContain('SIGKILL')
    expect(pushFault({ exitCode: null, signal: null, missing: true }, [], PLAIN).reason).toBe('engine_missing')
  })

  it('is known before a process runs where the video cannot be carried', () => {
    expect(cannotCarry(true, 'H265')).toMatchObject({ reason: 'unsupported', message: expect.stringContaining('RTMP') })
    expect(cannotCarry(false, 'JPEG')).toMatchObject({ reason: 'unsupported', message: expect.stringContaining('JPEG') })
    expect([cannotCarry(false, 'H265'), cannotCarry(true, 'H264')]).toEqual([undefined, undefined])
  })
})
