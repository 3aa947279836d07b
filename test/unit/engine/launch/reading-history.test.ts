import { expect, it } from 'vitest'
import { Fault } from '../../../../engine/faults/fault.ts'
import { ReaderChoice } from '../../../../engine/launch/reading-history.ts'
import { notUnderstood } from '../../../../engine/rtsp/client/client-faults.ts'
import type { Described } from '../../../../engine/rtsp/client/describe-source.ts'
import { parseSdp } from '../../../../engine/rtsp/protocol/sdp.ts'

const URI = 'rtsp://h/x'
const described = (server = 'one', ...more: readonly string[]): Described =>
  ({
    server,
    sdp: parseSdp(['v=0', 'o=- 1 1 IN IP4 h', 'm=video 0 RTP/AVP 96', 'a=rtpmap:96 H264/90000', ...more].join('\r\n')),
  }) as Described
const by = (choice: ReaderChoice, from: Described, fault?: Fault, uri = URI): string => {
  choice.heed(uri, fault)
  return choice.choose(uri, from) === undefined ? 'child' : 'engine'
}

it('the engine reads a source until it has not understood it, then a child does', () => {
  const choice = new ReaderChoice('engine')
  expect(by(choice, described())).toBe('engine')
  const fault = notUnderstood(URI, 'it is odd')
  expect([by(choice, described(), fault), by(choice, described(), fault), by(choice, described())]).toEqual(['child', 'child', 'child'])
  for (const reason of ['ended', 'unreachable', 'stalled', 'crashed'] as const) {
    expect(by(choice, described('one', 'a=tool:now'), new Fault(reason, 'away')), reason).toBe('child')
  }
  expect(by(choice, described(), undefined, 'rtsp://h/other')).toBe('engine')
})

it('a source that describes itself in another way is read by the engine again', () => {
  const choice = new ReaderChoice('engine')
  const fault = notUnderstood(URI, 'it is odd')
  expect(by(choice, described(), fault)).toBe('child')
  expect(by(choice, described('two'), fault)).toBe('engine')
  // The same fault does not count twice.
  expect(by(choice, described(), fault)).toBe('engine')
})

it('a source that a child does not understand either is read by the engine again', () => {
  const choice = new ReaderChoice('engine')
  expect(by(choice, described(), notUnderstood(URI, 'it is odd'))).toBe('child')
  expect(by(choice, described(), new Fault('timeout', 'no video'))).toBe('engine')
})

it('only so many sources are remembered', () => {
  const choice = new ReaderChoice('engine')
  for (let at = 0; at <= 1000; at += 1) by(choice, described(), notUnderstood(URI, 'it is odd'), `${URI}${at}`)
  expect([by(choice, described(), undefined, `${URI}0`), by(choice, described(), undefined, `${URI}1000`)]).toEqual(['engine', 'child'])
})

it('with the setting child, and for what a child alone can read, it is always a child', () => {
  expect(by(new ReaderChoice('child'), described())).toBe('child')
  expect(by(new ReaderChoice('engine'), { ...described(), sdp: parseSdp('v=0\r\nm=video 0 RTP/AVP 33') })).toBe('child')
})
