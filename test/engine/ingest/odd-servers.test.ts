import { describe, expect, it } from 'vitest'
import type { AccessUnit } from '../../../engine/rtp/access-unit.ts'
import { TRANSPORT_REFUSED } from '../../../engine/rtsp/client/client-faults.ts'
import { formatRequest, formatResponse, type HeaderFields } from '../../../engine/rtsp/protocol/format-message.ts'
import { formatInterleaved } from '../../../engine/rtsp/protocol/interleaved.ts'

import { faultOf, newPlanner, playSource } from '../../helpers/media/play-source.ts'
import {
  type Answer,
  KEY_SLICE,
  KLV_SDP,
  type OddClient,
  type Oddities,
  OTHER_SLICE,
  PPS,
  SPS,
  startOddServer,
  VIDEO_SDP,
} from '../../helpers/rtsp/odd-server.ts'
import { rtpPacket } from '../../helpers/rtsp/packets.ts'
import { until } from '../../helpers/until.ts'

const NAL = (packet: Buffer): number => (packet[12] ?? 0) & 0x1f
const typesOf = (unit: AccessUnit | undefined): readonly number[] => (unit?.packets() ?? []).map(NAL)
const sequencesOf = (units: readonly AccessUnit[]): readonly number[] =>
  units.flatMap((unit) => unit.packets().map((packet) => packet.readUInt16BE(2)))
const gapsOf = (units: readonly AccessUnit[]): readonly number[] =>
  sequencesOf(units).filter((sequence, at, all) => at > 0 && sequence !== (((all[at - 1] ?? 0) + 1) & 0xffff))

/** Changes the answers to a method. */
const answers = (method: string, change: Partial<Answer> | NonNullable<Oddities['answer']>): NonNullable<Oddities['answer']> => {
  return (request, answer, client) => {
    if (request.method !== method) return undefined
    if (typeof change === 'function') return change(request, answer, client)
    Object.assign(answer, { ...change, headers: { ...answer.headers, ...change.headers } })
    return undefined
  }
}

/** Methods and URLs of the requests, without the ones that keep the session. */
const requested = (requests: readonly { readonly method: string; readonly url: string }[]): readonly string[] =>
  requests.filter(({ method }) => method !== 'OPTIONS').map(({ method, url }) => `${method} ${url.replace(/^rtsp:\/\/[^/]*/, '')}`)

describe('a source', () => {
  it('plays over one connection, which is torn down at the end', async () => {
    const server = await startOddServer()
    const play = await playSource(server.url)
    await play.media()
    expect(play.events.map(({ type }) => type)).toEqual(['media'])
    expect(play.log().join()).toContain('H264 over TCP')
    await play.stop()
    expect(await play.ended).toBeUndefined()
    expect(requested(server.requests)).toEqual(['DESCRIBE /odd', 'SETUP /odd/track1', 'PLAY /odd', 'TEARDOWN /odd'])
    expect(server.requests.map(({ headers }) => headers.get('session'))).toEqual([undefined, undefined, 's1', 's1', 's1'])
    expect(server.clients).toHaveLength(1)
  })

  it.each<[what: string, Oddities]>([
    ['a Content-Base of another host', { answer: answers('DESCRIBE', { headers: { 'Content-Base': 'rtsp://10.9.8.7/odd/' } }) }],
    ['a Content-Base that is no address', { answer: answers('DESCRIBE', { headers: { 'Content-Base': '/' } }) }],
    [
      'a Content-Base at which it does not know its tracks',
      {
        answer: (request, answer) => {
          if (request.method === 'DESCRIBE') answer.headers['Content-Base'] = 'rtsp://127.0.0.1/elsewhere/'
          if (request.url.includes('elsewhere')) answer.status = 404
        },
      },
    ],
    ['absolute control URLs', { sdp: VIDEO_SDP.with(-1, 'a=control:rtsp://127.0.0.1/odd/track1') }],
    ['sound without a format in its description', { sdp: ['m=audio 0 RTP/AVP', 'a=control:track2', ...VIDEO_SDP] }],
    ['a transport in its description', { sdp: VIDEO_SDP.with(0, 'm=video 0 RTP/AVP/TCP 96') }],
    ['no control attribute', { sdp: VIDEO_SDP.slice(0, -1) }],
    ['a session without a timeout', { answer: answers('SETUP', { headers: { Session: 's1' } }) }],
    ['no session at all', { answer: answers('SETUP', { headers: { Session: undefined } }) }],
    ['no Transport in its answer', { answer: answers('SETUP', { headers: { Transport: undefined } }) }],
    ['other channels than asked', { channel: 6 }],
    ['one channel for video and KLV', { sdp: [...VIDEO_SDP, ...KLV_SDP], channel: 0 }],
    ['no clock rate in its description', { sdp: VIDEO_SDP.with(1, 'a=rtpmap:96 H264') }],
    [
      'no range of what it plays',
      { answer: answers('PLAY', ({ headers }, answer) => void (headers.get('range') && Object.assign(answer, { status: 457 }))) },
    ],
    ['feedback over RTCP', { sdp: VIDEO_SDP.with(0, 'm=video 0 RTP/AVPF 96') }],
    [
      'other channels than in its answer',
      {
        channel: 6,
        answer: answers('SETUP', (request, { headers }) => {
          headers.Transport = request.headers.get('transport')
          return undefined
        }),
      },
    ],
    [
      'wrong CSeq',
      {
        answer: (_request, { headers }) => {
          headers.CSeq = '9999'
          return undefined
        },
      },
    ],
    ['an error instead of its methods', { answer: answers('OPTIONS', { status: 501 }) }],
    ['no answer to requests that keep the session', { answer: answers('OPTIONS', () => false) }],
    ['a nonsensical RTP-Info', { answer: answers('PLAY', { headers: { 'RTP-Info': 'url=;seq=x;rtptime=99999999999,,;' } }) }],
    ['a wrong RTP-Info', { answer: answers('PLAY', { headers: { 'RTP-Info': 'url=track1;rtptime=3000000000' } }) }],
    [
      'media before the answer to PLAY',
      {
        answer: answers('PLAY', async (_request, _answer, client) => {
          for (const at of [0, 1])
            client.send(0, rtpPacket({ sequence: 998 + at, timestamp: 48_200, marker: at === 1, payload: at ? KEY_SLICE : SPS }))
          await new Promise((resolve) => setTimeout(resolve, 50))
          return undefined
        }),
      },
    ],
    [
      'RTCP on the channel of RTP',
      { onPlay: ({ send }) => send(0, Buffer.from('80c8000611223344e000000080000000000000010000000100000001', 'hex')) },
    ],
    ['other bytes between its frames', { stray: Buffer.from('\u0001garbage$\u0000\u0000\r\nRTS') }],
    ['frames of a channel that nobody set up', { onPlay: ({ send }) => send(42, Buffer.from('garbage')) }],
    ['requests of its own', { onPlay: (client) => ['OPTIONS', 'GET_PARAMETER', 'SET_PARAMETER', 'WHAT'].forEach(client.request) }],
    ['packets with padding, contributing sources and an extension', { picture: () => [KEY_SLICE] }],
  ])('may have %s', async (_what, odd) => {
    const server = await startOddServer(odd)
    const play = await playSource(server.url, { startTimeoutMs: 5000 })
    await play.media()
    await until(
      () => play.video.length,
      (count) => count > 12,
    )
    expect(gapsOf(play.video)).toEqual([])
    expect(server.clients).toHaveLength(1)
  })

  it('keeps its session with GET_PARAMETER where there is one, twice in its timeout, and with OPTIONS where that fails', async () => {
    const server = await startOddServer({
      answer: (request, answer) => {
        if (request.method === 'SETUP') answer.headers.Session = 's1; timeout=1'
        if (request.method === 'OPTIONS') answer.headers.Public = 'OPTIONS,GET_PARAMETER'
        if (request.method === 'GET_PARAMETER') answer.status = 451
      },
    })
    const play = await playSource(server.url)
    await play.media()
    const kept = () => server.requests.filter(({ method }) => method === 'OPTIONS' || method === 'GET_PARAMETER')
    await until(kept, (requests) => requests.length >= 4)
    expect(
      kept()
        .slice(0, 3)
        .map(({ method, headers }) => [method, headers.get('session')]),
    ).toEqual([
      ['OPTIONS', 's1'],
      ['GET_PARAMETER', 's1'],
      ['OPTIONS', 's1'],
    ])
  })

  it('gets receiver reports on its channel for RTCP', async () => {
    const server = await startOddServer({ channel: 4 })
    const play = await playSource(server.url)
    await play.media()
    await until(
      () => server.reports.length,
      (count) => count > 0,
    )
    const { channel, payload } = server.reports[0] ?? { channel: 0, payload: Buffer.alloc(0) }
    expect([channel, payload[1], payload.readUInt32BE(8).toString(16), payload[12]]).toEqual([5, 201, '11223344', 0])
  })

  it('with Digest gets a count for each use of a nonce, and answers a stale one and one that changes without a word', async () => {
    let nonces = 0
    const seen: (string | undefined)[][] = []
    const server = await startOddServer({
      answer: (request, answer) => {
        const header = request.headers.get('authorization') ?? ''
        const [nonce, count] = [/nonce="(\w+)"/.exec(header)?.[1], /nc=(\w+)/.exec(header)?.[1]]
        seen.push([request.method, nonce, count])
        const current = request.method === 'PLAY' ? 'n2' : request.method === 'TEARDOWN' ? 'n3' : 'n1'
        if (nonce === current) return
        nonces += 1
        answer.status = 401
        answer.headers['WWW-Authenticate'] = `Digest realm="r", qop="auth", nonce="${current}"${current === 'n2' ? ', stale=true' : ''}`
      },
    })
    const play = await playSource(server.url.replace('//', '//user:secret@'))
    await play.media()
    await play.stop()
    expect(nonces).toBe(server.requests.filter(({ method }) => method === 'OPTIONS').length > 1 ? 4 : 3)
    expect(seen.filter(([method]) => method !== 'OPTIONS')).toEqual([
      ['DESCRIBE', undefined, undefined],
      ['DESCRIBE', 'n1', '00000001'],
      ['SETUP', 'n1', '00000002'],
      ['PLAY', 'n1', '00000003'],
      ['PLAY', 'n2', '00000001'],
      ['TEARDOWN', expect.any(String), expect.any(String)],
      ['TEARDOWN', 'n3', '00000001'],
    ])
  })

  it('without parameter sets gets them from its description before each key frame', async () => {
    const server = await startOddServer({ picture: (n) => (n % 3 === 0 ? [KEY_SLICE] : [Buffer.from('419a00', 'hex')]) })
    const play = await playSource(server.url)
    await play.media()
    await until(
      () => play.video.filter(({ key }) => key).length,
      (count) => count >= 3,
    )
    expect(
      play.video
        .filter(({ key }) => key)
        .map(typesOf)
        .slice(0, 3),
    ).toEqual([
      [7, 8, 5],
      [7, 8, 5],
      [7, 8, 5],
    ])
    expect(gapsOf(play.video)).toEqual([])
  })

  it('without parameter sets in its description gets those of the stream into it', async () => {
    const server = await startOddServer({ sdp: [...VIDEO_SDP.slice(0, 2), 'a=control:track1'] })
    const play = await playSource(server.url)
    await play.media()
    const { parameters } = play.streams[0].caps ?? { parameters: new Map() }
    expect(Object.fromEntries(parameters)).toMatchObject({
      'packetization-mode': '1',
      'profile-level-id': SPS.toString('hex', 1, 4),
      'sprop-parameter-sets': `${SPS.toString('base64')},${PPS.toString('base64')}`,
    })
  })

  it('has its packets over 1452 bytes fragmented', async () => {
    const server = await startOddServer({ picture: () => [SPS, PPS, Buffer.concat([KEY_SLICE, Buffer.alloc(5000, 1)])] })
    const play = await playSource(server.url)
    await play.media()
    await until(
      () => play.video.length,
      (count) => count > 3,
    )
    expect([typesOf(play.video[0]), gapsOf(play.video)]).toEqual([[7, 8, 28, 28, 28, 28], []])
    expect(Math.max(...play.video.flatMap((unit) => unit.packets().map(({ length }) => length)))).toBeLessThanOrEqual(1400)
  })

  it('may go back in time at a key frame: its readers see no break', async () => {
    const server = await startOddServer({ restartEvery: 10 })
    const play = await playSource(server.url)
    await play.media()
    await until(
      () => play.video.length,
      (count) => count > 35,
    )
    const steps = play.video.slice(1).map(({ timestamp }, at) => (timestamp - (play.video[at]?.timestamp ?? 0)) | 0)
    expect([gapsOf(play.video), steps.filter((step) => step <= 0)]).toEqual([[], []])
  })

  it('may change its SSRC, as an encoder that restarts does', async () => {
    const server = await startOddServer({ ssrc: (n) => (n < 30 ? 1 : 2) })
    const play = await playSource(server.url)
    await play.media()
    await until(
      () => play.video.length,
      (count) => count > 60,
    )
    expect(gapsOf(play.video)).toEqual([])
  })

  it('passes its KLV on, whose times are those of the video by RTP-Info', async () => {
    const klv = Buffer.alloc(3000, 7)
    const server = await startOddServer({
      sdp: [...VIDEO_SDP, ...KLV_SDP],
      answer: answers('PLAY', (_, { headers }) => {
        headers['RTP-Info'] =
          'url=rtsp://127.0.0.1/odd/track1;seq=1000;rtptime=50000,url=rtsp://127.0.0.1/odd/track2;seq=1;rtptime=4000000000'
      }),
      onPlay: ({ send }) => {
        const packet = rtpPacket({ sequence: 1, timestamp: 4_000_009_000, payload: klv })
        packet[1] = 0x80 | 97
        send(2, packet)
      },
    })
    const play = await playSource(server.url)
    await play.media()
    await until(
      () => play.klv.length,
      (count) => count > 0,
    )
    const [unit] = play.klv
    expect(unit?.payload().equals(klv)).toBe(true)
    expect(unit?.packetCount).toBe(3)
    expect(play.streams[1].caps).toMatchObject({ encodingName: 'SMPTE336M', payload: 97 })
    expect((unit?.mediaMs ?? 0) - (play.video[0]?.mediaMs ?? 0)).toBeCloseTo(100, 0)
  })

  it('goes on without a KLV track that its server refuses', async () => {
    const server = await startOddServer({
      sdp: [...VIDEO_SDP, ...KLV_SDP],
      answer: answers('SETUP', (request, answer) => {
        if (request.url.endsWith('track2')) answer.status = 500
        return undefined
      }),
    })
    const play = await playSource(server.url)
    await play.media()
    expect(play.log().join()).toContain('goes on without the track KLV')
  })
})

describe('the end of a source', () => {
  const bye = Buffer.from('80c900011122334481cb000111223344', 'hex')
  it.each<[what: string, (client: OddClient) => unknown, object]>([
    ['a BYE', ({ send }) => send(1, bye), { reason: 'ended', message: expect.stringContaining('BYE') }],
    ['a closed connection', ({ socket }) => socket.end(), { reason: 'ended', message: expect.stringContaining('closed') }],
    ['a reset connection', ({ socket }) => socket.resetAndDestroy(), { reason: 'unreachable' }],
    ['a TEARDOWN of its server', ({ request }) => request('TEARDOWN'), { reason: 'ended', message: expect.stringContaining('TEARDOWN') }],
    ['a REDIRECT of its server', ({ request }) => request('REDIRECT'), { reason: 'ended' }],
    [
      'bytes that are no RTSP',
      ({ socket }) => socket.write('\u0001\u0002garbage\r\n\r\n'.repeat(10_000)),
      { reason: 'source_error', message: expect.stringContaining('violates the protocol') },
    ],
    ['silence', ({ pause }) => pause(), { reason: 'stalled' }],
    [
      'the parameter sets of another codec',
      ({ send }) => send(0, rtpPacket({ sequence: 2000, timestamp: 900_000, payload: Buffer.from('42010101600000030000', 'hex') })),
      { reason: 'ended', message: expect.stringContaining('H265') },
    ],
  ])('is noticed by %s', async (_what, end, fault) => {
    const server = await startOddServer()
    const play = await playSource(server.url, { stallTimeoutMs: 300 })
    await play.media()
    const began = performance.now()
    for (const client of server.clients) end(client)
    expect(await play.ended).toMatchObject(fault)
    expect(performance.now() - began).toBeLessThan(5000)
  })

  it('in the same read as the answer to PLAY leaves nothing behind', async () => {
    const server = await startOddServer({
      answer: answers('PLAY', (request, { headers }, { socket }) => {
        const early = rtpPacket({ sequence: 1, timestamp: 0, marker: true, payload: KEY_SLICE })
        const answer = formatResponse(200, { CSeq: request.headers.get('cseq'), ...headers } as HeaderFields)
        socket.write(Buffer.concat([formatInterleaved(0, early), answer, formatRequest('TEARDOWN', '*', { CSeq: 77 })]))
        return false
      }),
    })
    const play = await playSource(server.url)
    expect(await play.ended).toMatchObject({ reason: 'ended' })
    await new Promise((resolve) => setImmediate(resolve))
    expect([play.streams[0].live, play.video.length, play.log()]).toEqual([false, 0, []])
  })

  it('is not noticed by a BYE of somebody else', async () => {
    const server = await startOddServer({ onPlay: ({ send }) => send(1, Buffer.from('80c900010000000181cb000100000001', 'hex')) })
    const play = await playSource(server.url)
    await play.media()
    await until(
      () => play.video.length,
      (count) => count > 20,
    )
    expect(play.video.length).toBeGreaterThan(20)
  })
})

const UNREADABLE = { reason: 'source_error', message: expect.stringContaining('cannot be read') }

describe('a source that cannot be read', () => {
  it.each<[what: string, Oddities, { readonly reason?: string; readonly message?: unknown; readonly cause?: unknown }]>([
    ['TCP is refused', { answer: answers('SETUP', { status: 461 }) }, { reason: 'source_error', cause: TRANSPORT_REFUSED }],
    [
      'UDP is answered',
      { answer: answers('SETUP', { headers: { Transport: 'RTP/AVP;unicast;client_port=5000-5001' } }) },
      { cause: TRANSPORT_REFUSED },
    ],
    ['SETUP fails', { answer: answers('SETUP', { status: 500 }) }, UNREADABLE],
    ['PLAY fails', { answer: answers('PLAY', { status: 455 }) }, UNREADABLE],
    [
      'it is overloaded',
      { answer: answers('SETUP', { status: 453 }) },
      { reason: 'source_error', message: expect.stringContaining('453') },
    ],
    ['the user may not read it', { answer: answers('PLAY', { status: 403 }) }, { reason: 'unauthorized' }],
    ['credentials are missing', { answer: answers('SETUP', { status: 401 }) }, { reason: 'unauthorized' }],
    ['the connection is closed at SETUP', { answer: answers('SETUP', (_r, _a, { socket }) => !socket.destroy()) }, UNREADABLE],
    ['the answer to PLAY never comes', { answer: answers('PLAY', () => false) }, { reason: 'timeout' }],
    ['no media comes', { everyMs: 0 }, { reason: 'timeout' }],
    [
      'no key frame comes',
      { picture: () => [OTHER_SLICE] },
      { reason: 'timeout', message: expect.stringContaining('no key frame within') },
    ],
    ['its packets have another payload type', { payloadType: 100 }, { reason: 'timeout' }],
    [
      'its packets are no RTP',
      { everyMs: 0, onPlay: ({ send }) => Array.from({ length: 60 }, () => send(0, Buffer.alloc(20))) },
      UNREADABLE,
    ],
    [
      'it sends pictures without end',
      {
        everyMs: 0,
        onPlay: ({ send }) =>
          Array.from({ length: 3000 }, (_, at) =>
            send(0, rtpPacket({ sequence: at, timestamp: at * 90, marker: true, payload: Buffer.from('6588', 'hex') })),
          ),
      },
      { reason: 'source_flood' },
    ],
    ['it sends empty frames without end', { onPlay: ({ socket }) => socket.write('$\0\0\0'.repeat(20_000)) }, { reason: 'source_flood' }],
    [
      'it sends requests without end',
      { onPlay: ({ socket }) => socket.write('OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n'.repeat(200)) },
      { reason: 'source_flood' },
    ],
    ['its headers have no end', { onPlay: ({ socket }) => socket.write(`RTSP/1.0 200 OK\r\n${'X: y\r\n'.repeat(1e5)}`) }, UNREADABLE],
    ['a line has no end', { onPlay: ({ socket }) => socket.write('RTSP/1.0 200 '.padEnd(1e6, 'x')) }, UNREADABLE],
  ])('is one whose fault says so: %s', async (_what, odd, fault) => {
    const server = await startOddServer(odd)
    const startTimeoutMs = fault.reason === 'timeout' ? 700 : 10_000
    expect(await faultOf(server.url, { startTimeoutMs })).toMatchObject(fault)
    const { clients } = server
    await until(() => clients.every(({ socket }) => socket.destroyed), Boolean)
    expect(clients).toHaveLength(1)
  })

  it('over TCP is asked for UDP also after it could not describe itself', async () => {
    let busy = false
    const server = await startOddServer({
      answer: (request, answer) => {
        if (request.method === 'SETUP') answer.status = 461
        if (busy) answer.status = 500
        return undefined
      },
    })
    const planner = newPlanner()
    const previousFault = await faultOf(server.url, { planner })
    busy = true
    const failed = await faultOf(server.url, { planner, previousFault })
    expect(failed.message).toContain('(500)')
    busy = false
    const next = await playSource(server.url, { planner, previousFault: failed })
    expect(await next.ended).toMatchObject({ message: expect.stringContaining('over UDP') })
  })

  it('over UDP, whose packets do not come, is asked for TCP next', async () => {
    const server = await startOddServer({
      everyMs: 0,
      answer: answers(
        'SETUP',
        (request, answer) => void (/AVP\/TCP/.test(request.headers.get('transport') ?? '') && Object.assign(answer, { status: 461 })),
      ),
    })
    const planner = newPlanner()
    const previousFault = await faultOf(server.url, { planner })
    const silent = await faultOf(server.url, { planner, previousFault })
    expect(silent).toMatchObject({
      reason: 'timeout',
      cause: TRANSPORT_REFUSED,
      message: expect.stringContaining('open the firewall for UDP'),
    })
    expect(await faultOf(server.url, { planner, previousFault: silent })).toMatchObject({ message: expect.stringContaining('over TCP') })
  })

  it('is told as such before it is set up: encrypted RTP', async () => {
    const server = await startOddServer({ sdp: VIDEO_SDP.with(0, 'm=video 0 RTP/SAVP 96') })
    expect(await faultOf(server.url)).toMatchObject({ reason: 'unsupported', message: expect.stringContaining('encrypts its RTP') })
    expect(server.requests.map(({ method }) => method)).toEqual(['DESCRIBE'])
  })
})
