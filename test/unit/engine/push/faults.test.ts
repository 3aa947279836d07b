import { describe, expect, it } from 'vitest'
import type { Fault } from '../../../../engine/faults/fault.ts'
import type { Ended } from '../../../../engine/gst/child.ts'
import { cannotCarry, pushFault } from '../../../../engine/push/faults.ts'
import { pushLine } from '../../../../engine/push/line.ts'

const MEDIA = { codec: 'H264', klv: false, receiver: '10.0.0.9', outputHost: '0.0.0.0' }
const FAILED: Ended = { exitCode: 255, signal: null, missing: false }

const faultOf = (scheme: string, lines: readonly string[], ended: Ended = FAILED): Fault =>
  pushFault(ended, lines, pushLine(`${scheme}://10.0.0.9:9000/live/a`, MEDIA))

/** What the sinks of GStreamer 1.22 print, some of it as an error of an element, and what becomes of it. */
const PRINTED = [
  ['rtsp', 'WARNING: erroneous pipeline: no element "rtspclientsink"', 'missing_element', 'apt-get install gstreamer1.0-rtsp'],
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
  ['rtsp', 'GstRTSPClientSink:out: Resource not found.', 'not_found', '404'],
  ['rtsp', 'GstRTSPClientSink:out: Could not open resource for reading and writing.', 'unreachable', 'cannot be reached'],
  ['rtsp', 'Got error response: 415 (Unsupported Media Type).', 'source_error', 'answers 415 (Unsupported Media Type)'],
  ['udp', 'Unauthorized (401)', 'unauthorized', 'user name and password'],
  ['udp', 'GstX:x: Something odd', 'crashed', 'Something odd'],
] as const

describe('the fault of a push', () => {
  it.each(PRINTED)('over %s after %s is %s', (scheme, line, reason, says) => {
    const printed = line.startsWith('Gst') ? `ERROR: from element /GstPipeline:pipeline0/${line}` : line
    expect(faultOf(scheme, ['Setting up', printed])).toMatchObject({ reason, message: expect.stringContaining(says) })
  })

  it('is what came first, not the answer to what rtspclientsink sends after it', () => {
    const lines = ['Got error response: 415 (Unsupported Media Type).', 'Got error response: 454 (Session Not Found).']
    expect(faultOf('rtsp', lines)).toMatchObject({ reason: 'source_error', message: expect.stringContaining('415') })
  })

  it('may be the certificate of a receiver over TLS that cannot be reached, since rtspclientsink does not say so', () => {
    const lines = ['Failed to connect. (Generic error)']
    expect(faultOf('rtsp', lines).message).not.toContain('certificate')
    const advised = { reason: 'unreachable', message: expect.stringContaining('add its certificate authority to this host') }
    for (const scheme of ['rtsps', 'rtmps']) expect(faultOf(scheme, lines)).toMatchObject(advised)
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
