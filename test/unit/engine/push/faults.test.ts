import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../engine/faults/fault.ts'
import type { Ended } from '../../../../engine/gst/child.ts'
import { cannotCarry, pushFault } from '../../../../engine/push/faults.ts'
import { pushLine } from '../../../../engine/push/line.ts'
import { brokenBy, refusedBy } from '../../../../engine/push/rtsp-faults.ts'
import { ClosedEarly } from '../../../../engine/rtsp/client/client-connection.ts'
import { RtspProtocolError } from '../../../../engine/rtsp/protocol/message-parser.ts'

const MEDIA = { codec: 'H264', receiver: '10.0.0.9', outputHost: '0.0.0.0' }
const FAILED: Ended = { exitCode: 255, signal: null, missing: false }

const faultOf = (scheme: string, lines: readonly string[], ended: Ended = FAILED): Fault =>
  pushFault(ended, lines, pushLine(`${scheme}://10.0.0.9:9000/live/a`, MEDIA))

/** What the sinks of GStreamer 1.22 print, some of it as an error of an element, and what becomes of it. */
const PRINTED = [
  ['rtmp', 'WARNING: erroneous pipeline: no element "rtmp2sink"', 'missing_element', 'apt-get install gstreamer1.0-plugins-bad'],
  ['srt', 'GstSRTSink:srtsink0: Failed to write to SRT socket: Error on SRT socket: Connection timeout', 'unreachable', 'does not answer'],
  ['srt', 'GstSRTSink:srtsink0: Failed to write to SRT socket: Error on SRT socket: Unknown or erroneous', 'unreachable', 'was lost'],
  [
    'rtmp',
    'GstRtmp2Sink:rtmp2sink0: Connection refused: Could not connect to 127.0.0.1: Connection refused',
    'unreachable',
    'refuses the connection',
  ],
  ['rtmp', 'GstRtmp2Sink:rtmp2sink0: Failed to connect: Socket I/O timed out', 'timeout', 'hangs'],
  [
    'rtmp',
    "GstRtmp2Sink:rtmp2sink0: Failed to connect: 'publish' cmd failed: connection closed remotely",
    'unauthorized',
    'the key is wrong',
  ],
  ['rtmp', "GstRtmp2Sink:rtmp2sink0: Failed to connect: 'connect' cmd failed: connection closed remotely", 'not_found', 'RTMP application'],
  ['rtmp', 'GstRtmp2Sink:rtmp2sink0: Failed to connect: Short read (want 3073 have 309)', 'source_error', 'another protocol'],
  ['rtmp', 'GstRtmp2Sink:rtmp2sink0: Connection error: connection closed remotely', 'unreachable', 'stream key'],
  ['udp', 'GstX:x: Resource not found.', 'not_found', '404'],
  ['udp', 'GstX:x: Could not open resource for reading and writing.', 'unreachable', 'cannot be reached'],
  ['udp', 'Unauthorized (401)', 'unauthorized', 'user name and password'],
  ['udp', 'GstX:x: Something odd', 'crashed', 'Something odd'],
] as const

describe('the fault of a push', () => {
  it.each(PRINTED)('over %s after %s is %s', (scheme, line, reason, says) => {
    const printed = line.startsWith('Gst') ? `ERROR: from element /GstPipeline:pipeline0/${line}` : line
    expect(faultOf(scheme, ['Setting up', printed])).toMatchObject({ reason, message: expect.stringContaining(says) })
  })

  it('may be the certificate of a receiver over TLS that cannot be reached', () => {
    const lines = ['Failed to connect. (Generic error)']
    expect(faultOf('rtmp', lines).message).not.toContain('certificate')
    const advised = { reason: 'unreachable', message: expect.stringContaining('add its certificate authority to this host') }
    expect(faultOf('rtmps', lines)).toMatchObject(advised)
  })

  it.each([
    [refusedBy(401), 'unauthorized', 'user name and password'],
    [refusedBy(403), 'unauthorized', '403'],
    [refusedBy(404), 'not_found', '404'],
    [refusedBy(415), 'source_error', 'answers 415 (Unsupported Media Type)'],
    [brokenBy(Object.assign(new Error(), { code: 'ECONNREFUSED' })), 'unreachable', 'refuses the connection'],
    [brokenBy(Object.assign(new Error(), { code: 'ENOTFOUND' })), 'unreachable', 'has no address'],
    [brokenBy(Object.assign(new Error(), { code: 'ENETUNREACH' })), 'unreachable', 'no route'],
    [brokenBy(Object.assign(new Error(), { code: 'ETIMEDOUT' })), 'timeout', 'stopped answering'],
    [brokenBy(Object.assign(new Error(), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })), 'source_error', 'add its certificate authority'],
    [brokenBy(new RtspProtocolError('x')), 'source_error', 'does not speak RTSP'],
    [brokenBy(new Fault('source_error', 'x', { cause: new ClosedEarly() })), 'unreachable', 'without an answer'],
    [brokenBy(undefined), 'unreachable', 'was lost'],
  ] as const)('over RTSP is, before a child would tell: %s', (fault, reason, says) => {
    expect(fault).toMatchObject({ reason, message: expect.stringContaining(says) })
  })

  it('is an end when the process ended well, a crash when it was killed, and says that GStreamer is missing', () => {
    expect(faultOf('udp', [], { ...FAILED, exitCode: 0 }).reason).toBe('ended')
    expect(faultOf('udp', ['ERROR: from element /GstX:x: Odd'], { ...FAILED, exitCode: 0 }).reason).toBe('crashed')
    expect(faultOf('udp', [], { exitCode: null, signal: 'SIGKILL', missing: false }).message).toContain('SIGKILL')
    expect(faultOf('udp', [], { exitCode: null, signal: null, missing: true }).reason).toBe('engine_missing')
  })

  it('is known before a process runs where the video cannot be carried', () => {
    expect(cannotCarry('rtmps://h/a/b', 'H265')).toMatchObject({ reason: 'unsupported', message: expect.stringContaining('RTMP') })
    expect(cannotCarry('srt://h:1', 'JPEG')).toMatchObject({ reason: 'unsupported', message: expect.stringContaining('JPEG') })
    expect([cannotCarry('rtsp://h/', 'H265'), cannotCarry('rtmp://h/a/b', 'H264')]).toEqual([undefined, undefined])
  })
})
