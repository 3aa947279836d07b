import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { redact } from '../../../../lib/redact.ts'
import { sourceSchema } from '../../../../lib/schema/pipeline.ts'
import { parseOutputUri } from '../../../../lib/uri/output-address.ts'

const messageFor = (uri: string): string | undefined => v.safeParse(sourceSchema, { uri }).issues?.[0].message

it.each([
  ['rtsp://user:p@[fe80::1%25eth0]/s', 'without an IPv6 zone'],
  ['udp://[fe80::1%eth0]:5000', 'without an IPv6 zone'],
  ['rtsp://[fe80::1/s?a=%25', 'complete stream address'],
])('an address that is none says why: %s', (uri, says) => {
  expect(messageFor(uri)).toContain(says)
})

describe('what is special in a user name or password', () => {
  it.each([
    ['rtsp://user:pa/ss@10.0.0.5/s', '/ as %2F'],
    ['rtsp://user:pa?ss@10.0.0.5/s', '? as %3F'],
    ['rtsp://user:p@ss@10.0.0.5/s', 'password (@ as %40'],
    ['rtsp://user:p@ss/word@host/s', 'password (/ as %2F, @ as %40'],
    ['rtsp://user:p@ss?wo/rd@host:554/s', 'password (/ as %2F, ? as %3F, @ as %40'],
    ['rtsp://user:12#34@10.0.0.5/s', '# as %23'],
    ['rtsp://user:p@a/s#s@10.0.0.5/s', '# as %23'],
  ])('has to be encoded: %s', (uri, says) => {
    // As an answer has it.
    expect(redact(messageFor(uri) ?? '')).toContain(says)
  })

  it.each([
    'rtsp://user:p%2Fa%3Fs%23s@10.0.0.5/s',
    'rtsp://user:pass@camera/live@1',
    'rtsp://user:pass@10.0.0.5/live@main/1',
    'rtsp://user:***@10.0.0.5/s@1',
    'rtsp://10.0.0.5:554/cam@1?of=a@b',
    'rtsp://[::1]:554/cam@1',
    'udp://@239.0.0.1:5000',
    'srt://:9000?mode=listener&streamid=a@b',
  ])('takes no other address for one: %s', (uri) => {
    expect(messageFor(uri)).toBeUndefined()
  })
})

describe('addresses', () => {
  for (const [uri, parts] of [
    ['rtsp://0.0.0.0:50000/cam-1', { host: '0.0.0.0', port: 50000, path: 'cam-1' }],
    ['rtsp://[::]:1024/a_b', { host: '::', port: 1024, path: 'a_b' }],
    ['rtsp://0.0.0.0:1023/a', undefined],
    ['rtsp://0.0.0.0:65536/a', undefined],
    ['rtsp://0.0.0.0/a', undefined],
    ['rtsp://host:5000/a', undefined],
    ['rtsp://u:p@0.0.0.0:5000/a', undefined],
    ['rtsp://0.0.0.0:5000/a/b', undefined],
    ['RTSP://0.0.0.0:5000/a', undefined],
  ] as const) {
    it(`the output ${uri} is ${parts === undefined ? 'refused' : 'parsed'}`, () => expect(parseOutputUri(uri)).toEqual(parts))
  }
})
