import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { runRtspConnection } from '../../../engine/push/rtsp-connection.ts'
import { ssrcOf } from '../../../engine/rtp/packet/packet.ts'
import { isRtcp } from '../../../engine/rtp/packet/rtcp.ts'
import { parseAuthentication } from '../../../engine/rtsp/protocol/authentication.ts'
import { h264Media, type Media, startMedia } from '../../helpers/rtsp/media.ts'
import { type Oddities, startOddServer } from '../../helpers/rtsp/odd-server.ts'
import { until } from '../../helpers/until.ts'

let media: Media
const areLive = () => media.streams.every(({ live }) => live)
// gst-launch-1.0 -v loses the caps of a payloader now and then when two start together: it is started again.
beforeAll(async () => {
  for (let left = 5; left > 0; left -= 1) {
    media = startMedia([h264Media(), h264Media(10).replace('pay0', 'pay1')])
    if (await until(areLive, Boolean, 4000).catch(() => false)) return
    await media.stop()
  }
}, 40_000)
afterAll(() => media.stop())

const openPush = async (odd: Oddities, userInfo = '') => {
  const server = await startOddServer(odd)
  await until(
    () => media.streams.every(({ live }) => live),
    (live) => live,
  )
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  let sending = false
  const ended = runRtspConnection({
    uri: server.url.replace('://', `://${userInfo}`),
    streams: media.streams,
    now: Date.now,
    signal: abort.signal,
    log: () => {},
    onStart: () => {},
    onSending: () => {
      sending = true
    },
  })
  return { server, abort, ended, sending: () => sending }
}

const md5 = (...parts: readonly string[]): string => createHash('md5').update(parts.join(':')).digest('hex')

it('announces and records each stream on its channel with Digest, reports its times, keeps the session and ends it', async () => {
  const { server, abort, ended, sending } = await openPush(
    {
      answer: ({ method, url, headers }, answer) => {
        const given = parseAuthentication(headers.get('authorization') ?? '')[0]?.parameters
        const expected = md5(md5('u', 'r', 'p@ss'), 'n', md5(method, url))
        if (given?.get('response') !== expected) {
          Object.assign(answer, { status: 401, headers: { 'WWW-Authenticate': 'Digest realm="r", nonce="n"' } })
        } else if (method === 'SETUP' && url.endsWith('stream=1')) answer.headers.Transport = 'RTP/AVP/TCP;unicast;interleaved=8-9'
        else if (method === 'SETUP') answer.headers.Session = 's1;timeout=1'
        return undefined
      },
    },
    'u:p%40ss@',
  )
  await until(sending, (yes) => yes)
  const requests = server.requests.filter(({ headers }) => headers.get('authorization') !== undefined)
  await until(
    () => server.requests.filter(({ method }) => method === 'OPTIONS').length,
    (pings) => pings > 1,
  )
  abort.abort()
  expect(await ended).toBe('stopped')
  const order = requests.map(({ method }) => method).filter((method) => method !== 'OPTIONS')
  expect(order).toEqual(['ANNOUNCE', 'SETUP', 'SETUP', 'RECORD'])
  expect(server.requests.at(-1)?.method).toBe('TEARDOWN')
  expect(requests[1]?.headers.get('transport')).toBe('RTP/AVP/TCP;unicast;interleaved=0-1;mode=record')
  expect(String(requests[0]?.body)).toMatch(/a=rtpmap:96 H264\/90000\r\n.*sprop-parameter-sets=.*a=control:stream=1/s)
  const channels = (rtcp: boolean) =>
    new Set(server.reports.filter(({ payload }) => isRtcp(payload) === rtcp).map(({ channel }) => channel))
  expect([channels(false), channels(true)]).toEqual([new Set([0, 8]), new Set([1, 9])])
  const media = (at: number) => new Set(server.reports.filter(({ channel }) => channel === at).map(({ payload }) => ssrcOf(payload)))
  expect([media(0).size, media(8).size]).toEqual([1, 1])
}, 20_000)

const status = (method: string, code: number): Oddities => ({
  answer: (request, answer) => {
    if (request.method === method) Object.assign(answer, { status: code, headers: { Location: 'rtsp://127.0.0.1:1/other' } })
    return undefined
  },
})

it.each([
  ['refuses it', status('ANNOUNCE', 415), 'source_error', 'answers 415 (Unsupported Media Type)'],
  ['does not know the path', status('ANNOUNCE', 404), 'not_found', '404'],
  ['wants a password', status('SETUP', 401), 'unauthorized', 'user name and password'],
  ['sends it elsewhere', status('ANNOUNCE', 302), 'source_error', 'answers 302'],
  [
    'refuses TCP',
    { answer: ({ method }, { headers }) => void (method === 'SETUP' && Object.assign(headers, { Transport: 'RTP/AVP;unicast' })) },
    'source_error',
    '461',
  ],
  [
    'closes instead of an answer',
    { answer: ({ method }, _, { socket }) => (method === 'RECORD' ? !socket.destroy() : undefined) },
    'unreachable',
    'without an answer',
  ],
  [
    'closes while it is sent',
    { answer: ({ method }, _, { socket }) => void (method === 'OPTIONS' && socket.destroy()) },
    'unreachable',
    'was lost',
  ],
] as readonly (readonly [string, Oddities, string, string])[])('says that a receiver %s', async (_, odd, reason, says) => {
  const { ended, server } = await openPush(odd)
  expect(await ended).toMatchObject({ reason, message: expect.stringContaining(says) })
  await until(
    () => server.clients.every(({ socket }) => socket.destroyed),
    (closed) => closed,
  )
})
