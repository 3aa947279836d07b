import { expect, it } from 'vitest'
import { ElementaryStream } from '../../../../engine/formats/elementary-stream.ts'
import { beginStream, IDR } from '../../../helpers/rtsp/packets.ts'

const SPS = Buffer.from('674d4015e98283f602d418181a94000003000400000300f23c58b4e0', 'hex')
const PPS = Buffer.from('68efbc80', 'hex')

/** A picture parameter set that begins with its id as Exp-Golomb code (H.264 section 9.1). */
const pps = (id: number, bytes: number): Buffer => {
  const code = (id + 1).toString(2)
  const first = `${'0'.repeat(code.length - 1)}${code}`.padEnd(8, '1')
  return Buffer.concat([Buffer.from([0x68, Number.parseInt(first, 2)]), Buffer.alloc(bytes, 0xaa)])
}

it('bounds the parameter sets that go before each key picture, and still learns another one of a known id', () => {
  const { stream: video, send } = beginStream()
  const stream = new ElementaryStream(video, { reordered: undefined })
  const setsOf = (): readonly number[] => {
    const units = video.gop?.units ?? []
    const nals = units.flatMap((one) => stream.picture(one)?.nals ?? [])
    return nals.filter(({ type }) => type === 8).map(({ pieces }) => pieces.reduce((sum, piece) => sum + piece.length, 0))
  }
  send([SPS, PPS, IDR])
  for (let id = 1; id <= 14; id += 1) send([pps(id, 4000), IDR])
  send([IDR])
  expect(setsOf()).toEqual([PPS.length, 4002, 4002, 4002, 4002])
  send([pps(1, 100), IDR])
  send([IDR])
  expect(setsOf()).toEqual([PPS.length, 102, 4002, 4002, 4002])
})
