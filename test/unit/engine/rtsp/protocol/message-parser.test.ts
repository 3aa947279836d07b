import { describe, expect, it } from 'vitest'
import { formatRequest, formatResponse } from '../../../../../engine/rtsp/protocol/format-message.ts'
import { formatInterleaved } from '../../../../../engine/rtsp/protocol/interleaved.ts'
import type { RtspMessage } from '../../../../../engine/rtsp/protocol/message.ts'
import { MessageParser, RtspProtocolError } from '../../../../../engine/rtsp/protocol/message-parser.ts'
import { rounds } from '../../../../helpers/random.ts'
import { Random } from '../../../../helpers/rtsp/random-bytes.ts'

const SAMPLES = Buffer.concat([
  formatRequest('DESCRIBE', 'rtsp://host:554/cam', { CSeq: 1, Accept: 'application/sdp' }),
  formatInterleaved(0, Buffer.from([0x80, 0x60, 1, 2])),
  formatResponse(200, { CSeq: 1, 'Content-Type': 'application/sdp' }, 'v=0\r\ns=ä\r\n'),
  formatInterleaved(1, Buffer.alloc(0)),
  formatRequest('SET_PARAMETER', 'rtsp://host/cam', { CSeq: 2 }, 'position: 1\r\n'),
])

const shape = (message: RtspMessage): unknown => {
  if (message.kind === 'interleaved') return [message.channel, message.payload.toString('hex')]
  if (message.kind === 'response') return [message.status, message.reason, message.headers.get('cseq'), message.body.toString()]
  return [message.method, message.url, message.headers.get('CSEQ'), message.body.toString()]
}

const parse = (...chunks: (string | Buffer)[]) => {
  const parser = new MessageParser()
  return chunks.flatMap((chunk) => parser.push(Buffer.from(chunk))).map(shape)
}

const WHOLE = [
  ['DESCRIBE', 'rtsp://host:554/cam', '1', ''],
  [0, '80600102'],
  [200, 'OK', '1', 'v=0\r\ns=ä\r\n'],
  [1, ''],
  ['SET_PARAMETER', 'rtsp://host/cam', '2', 'position: 1\r\n'],
]

describe('the RTSP message parser', () => {
  it('parses requests, responses and interleaved frames from one stream', () => {
    expect(parse(SAMPLES)).toEqual(WHOLE)
  })

  it('copies no frame out of chunks that lie one behind the other', () => {
    const payload = Buffer.from('8060010203040506', 'hex')
    const bytes = Buffer.concat([formatInterleaved(0, payload), formatInterleaved(2, payload)])
    const parser = new MessageParser()
    expect(parser.holds).toBe(false)
    const messages = [bytes.subarray(0, 6), bytes.subarray(6, 15), bytes.subarray(15)].flatMap((chunk) => parser.push(chunk))
    expect(messages.map(shape)).toEqual([
      [0, '8060010203040506'],
      [2, '8060010203040506'],
    ])
    for (const message of messages) expect(message.kind === 'interleaved' && message.payload.buffer).toBe(bytes.buffer)
    expect(parser.holds).toBe(false)
    parser.push(bytes.subarray(0, 6))
    expect(parser.holds).toBe(true)
  })

  it('gives messages bodies of their own, since the chunks may be used again', () => {
    const bytes = Buffer.from(formatResponse(200, { CSeq: 1 }, 'v=0'))
    const [message] = new MessageParser().push(bytes)
    bytes.fill(0)
    expect(message && shape(message)).toEqual([200, 'OK', '1', 'v=0'])
  })

  it('parses the same messages however the bytes are split', () => {
    for (let seed = 1; seed <= rounds(20); seed += 1) {
      const random = new Random(seed)
      expect(parse(...random.pieces(SAMPLES, 1 + random.integer(40))), `seed ${seed}`).toEqual(WHOLE)
    }
  })

  it('accepts bare line feeds, folded headers, header names in any case and blank lines between messages', () => {
    expect(parse('\r\n\r\noptions * RTSP/1.0\ncseq : 7\nX-Long: one\n two\n\n')).toEqual([['options', '*', '7', '']])
  })

  it('keeps every value of a repeated header', () => {
    const [message] = new MessageParser().push(
      Buffer.from('RTSP/1.0 401 No\r\nWWW-Authenticate: Basic\r\nwww-authenticate: Digest\r\n\r\n'),
    )
    expect(message?.kind === 'response' && message.headers.all('WWW-Authenticate')).toEqual(['Basic', 'Digest'])
  })

  it('takes the blanks around a header value away, and nothing else', () => {
    const [message] = new MessageParser().push(
      Buffer.from('OPTIONS * RTSP/1.0\r\nA: \t x  y\t \r\nB:\r\nC: \r\nD:caf\xc3\xa0\r\n\r\n', 'latin1'),
    )
    const read = (name: string) => (message?.kind === 'request' ? message.headers.get(name) : undefined)
    expect(['A', 'B', 'C', 'D'].map(read)).toEqual(['x  y', '', '', 'caf\xc3\xa0'])
  })

  it('takes linear time for blanks inside of a header value', () => {
    // A quadratic expression would need minutes for these, a linear one milliseconds; the test's own timeout judges.
    const blanks = ' '.repeat(400_000)
    const parser = new MessageParser({ lineBytes: 1_000_000, headerBytes: 2_000_000 })
    const messages = parser.push(Buffer.from(`OPTIONS * RTSP/1.0\r\nA: x${blanks}y\r\nB${blanks}: z\r\n\r\n`))
    expect(messages).toHaveLength(1)
  })

  it.each([
    ['HTTP', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['TLS', Buffer.from('16030100a5010000a10303\n', 'latin1')],
    ['a line that is too long', `OPTIONS ${'a'.repeat(5000)}`],
    ['headers that never end', `OPTIONS * RTSP/1.0\r\n${'A: b\r\n'.repeat(5000)}`],
    ['65 headers', `OPTIONS * RTSP/1.0\r\n${'A: b\r\n'.repeat(65)}\r\n`],
    ['headers of more than 16 KiB', `OPTIONS * RTSP/1.0\r\n${`A: ${'b'.repeat(3000)}\r\n`.repeat(6)}\r\n`],
    ['a body over the limit', 'OPTIONS * RTSP/1.0\r\nContent-Length: 999999999\r\n\r\n'],
    ['a negative length', 'OPTIONS * RTSP/1.0\r\nContent-Length: -1\r\n\r\n'],
    ['two different lengths', 'OPTIONS * RTSP/1.0\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n'],
    ['a header without a colon', 'OPTIONS * RTSP/1.0\r\nnonsense\r\n\r\n'],
  ])('throws on %s, and on all later input', (_, bytes) => {
    const parser = new MessageParser()
    expect(() => parser.push(Buffer.from(bytes))).toThrow(RtspProtocolError)
    expect(() => parser.push(SAMPLES)).toThrow(RtspProtocolError)
  })

  describe('that skips stray bytes', () => {
    const frame = Buffer.from('2400000480604142', 'hex')
    const stray = Buffer.from('\u0001\u00ff$\u0000\u0000\u0004AB\r\nR', 'latin1')
    const response = Buffer.from('RTSP/1.0 200 OK\r\n\r\n')

    it('finds the next frame and the next message, however the bytes are split', () => {
      const bytes = Buffer.concat([frame, stray, frame, frame, stray, response, stray, frame])
      for (let seed = 1; seed <= rounds(40); seed += 1) {
        const parser = new MessageParser({ strayBytes: 100 })
        const kinds = new Random(seed).pieces(bytes, 8).flatMap((piece) => parser.push(piece).map(({ kind }) => kind))
        expect(kinds, `seed ${seed}`).toEqual(['interleaved', 'interleaved', 'interleaved', 'response', 'interleaved'])
      }
    })

    it('throws when there are too many in a row, and before the first frame', () => {
      const parser = new MessageParser({ strayBytes: 100 })
      for (let at = 0; at < 50; at += 1) parser.push(Buffer.concat([frame, stray]))
      expect(() => parser.push(Buffer.alloc(101))).toThrow(RtspProtocolError)
      expect(() => new MessageParser({ strayBytes: 100 }).push(Buffer.from('\u0001\n'))).toThrow(RtspProtocolError)
    })
  })

  it('throws nothing but RtspProtocolError for malformed input', () => {
    for (let seed = 1; seed <= rounds(200); seed += 1) {
      const random = new Random(seed)
      const parser = new MessageParser()
      try {
        for (const piece of random.pieces(random.mutate(SAMPLES), 64)) parser.push(piece)
      } catch (error) {
        expect(error, `seed ${seed}`).toBeInstanceOf(RtspProtocolError)
      }
    }
  })

  it('prevents header injection through a header value', () => {
    const bytes = formatResponse(551, { Unsupported: 'a\r\nX-Evil: 1' }).toString()
    expect(bytes).toBe('RTSP/1.0 551 Option not supported\r\nUnsupported: a X-Evil: 1\r\n\r\n')
  })
})
