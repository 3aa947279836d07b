import { expect, it } from 'vitest'
import { Fault } from '../../../../engine/faults/fault.ts'
import { TRANSPORT_REFUSED } from '../../../../engine/gst/bus-errors.ts'
import { ReadingHistory } from '../../../../engine/launch/reading-history.ts'
import { notUnderstood } from '../../../../engine/rtsp/client/client-faults.ts'
import type { Described } from '../../../../engine/rtsp/client/describe-source.ts'
import { parseSdp } from '../../../../engine/rtsp/protocol/sdp.ts'

const URI = 'rtsp://h/x'
const described = (server = 'one', ...more: readonly string[]): Described =>
  ({
    server,
    sdp: parseSdp(['v=0', 'o=- 1 1 IN IP4 h', 'm=video 0 RTP/AVP 96', 'a=rtpmap:96 H264/90000', ...more].join('\r\n')),
  }) as Described
const by = (history: ReadingHistory, from: Described, fault?: Fault, uri = URI): string => {
  history.noteFault(uri, fault)
  return history.tracks(uri, from) === undefined ? 'child' : 'engine'
}

it('the engine reads a source until it has not understood it, then a child does', () => {
  const history = new ReadingHistory('engine')
  expect(by(history, described())).toBe('engine')
  const fault = notUnderstood(URI, 'it is odd')
  expect([by(history, described(), fault), by(history, described(), fault), by(history, described())]).toEqual(['child', 'child', 'child'])
  for (const reason of ['ended', 'unreachable', 'stalled', 'crashed'] as const) {
    expect(by(history, described('one', 'a=tool:now'), new Fault(reason, 'away')), reason).toBe('child')
  }
  expect(by(history, described(), undefined, 'rtsp://h/other')).toBe('engine')
})

it('a source that describes itself in another way is read by the engine again', () => {
  const history = new ReadingHistory('engine')
  const fault = notUnderstood(URI, 'it is odd')
  expect(by(history, described(), fault)).toBe('child')
  expect(by(history, described('two'), fault)).toBe('engine')
  // The same fault does not count twice.
  expect(by(history, described(), fault)).toBe('engine')
})

it('a source that a child does not understand either is read by the engine again', () => {
  const history = new ReadingHistory('engine')
  expect(by(history, described(), notUnderstood(URI, 'it is odd'))).toBe('child')
  expect(by(history, described(), new Fault('timeout', 'no video'))).toBe('engine')
})

it('the last 1000 sources are remembered', () => {
  const history = new ReadingHistory('engine')
  for (let at = 0; at <= 1000; at += 1) by(history, described(), notUnderstood(URI, 'it is odd'), `${URI}${at}`)
  expect([by(history, described(), undefined, `${URI}0`), by(history, described(), undefined, `${URI}1000`)]).toEqual(['engine', 'child'])
})

it('a source that refuses TCP gets UDP until it refuses that too, and each fault counts once', () => {
  const history = new ReadingHistory('engine')
  const refusal = () => new Fault('source_error', 'refused', { cause: TRANSPORT_REFUSED })
  const after = (fault: Fault | undefined, uri = URI): string => {
    history.noteFault(uri, fault)
    return history.transport(uri)
  }
  const noTcp = refusal()
  expect([after(undefined), after(noTcp), after(noTcp), after(new Fault('ended', 'away'))]).toEqual(['tcp', 'udp', 'udp', 'udp'])
  expect(by(history, described())).toBe('engine')
  const noUdp = refusal()
  expect([after(noUdp), after(noUdp)]).toEqual(['tcp', 'tcp'])
  for (const scheme of ['rtspt', 'rtsps']) expect(after(refusal(), `${scheme}://h/x`)).toBe('tcp')
})

it('with the setting child, and for what a child alone can read, it is always a child', () => {
  expect(by(new ReadingHistory('child'), described())).toBe('child')
  expect(by(new ReadingHistory('engine'), { ...described(), sdp: parseSdp('v=0\r\nm=video 0 RTP/AVP 33') })).toBe('child')
})
