import { expect, it } from 'vitest'
import { FramePairing } from '../../../../engine/formats/frame-pairing.ts'

const pairingOf = (...times: readonly number[]): FramePairing<{ readonly mediaMs: number }> => {
  const pairing = new FramePairing<{ readonly mediaMs: number }>()
  for (const mediaMs of times) pairing.add({ mediaMs })
  return pairing
}

const NONE = undefined

it.each([
  ['at its time', [0, 40, 80], 40, 40],
  ['at almost its time, when it is the only one', [40], 40.5, 40],
  ['nearest to it', [0, 40, 80], 55, 40],
  ['that is still to come', [0, 40, 80], 120, NONE],
  ['that is nearest and still to come', [0, 40, 80], 102, NONE],
  ['that comes late, as B-frames do', [0, 120, 40, 240, 160], 80, NONE],
  ['before it, when its own is missing', [0, 40, 160, 200, 240, 280], 90, 40],
  ['that is the first, for what came before any', [400, 440, 480, 520, 560], 100, 400],
])('finds the frame %s', (_what, frames, mediaMs, expected) => {
  expect(pairingOf(...frames).frameAt(mediaMs)?.mediaMs).toBe(expected)
})

it('gives KLV without a frame of its own the last one before it', () => {
  expect([pairingOf(0, 80, 40).lastAt(70), pairingOf(50).lastAt(0), pairingOf().lastAt(0)]).toEqual([
    { mediaMs: 40 },
    { mediaMs: 50 },
    NONE,
  ])
})
