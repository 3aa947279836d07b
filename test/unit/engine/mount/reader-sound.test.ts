import { expect, it } from 'vitest'
import { Reader } from '../../../../engine/mount/reader.ts'
import type { Sink } from '../../../../engine/mount/sink.ts'
import type { AccessUnit } from '../../../../engine/rtp/access-unit.ts'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import { beginStream, H264_CAPS, IDR, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'

const PCMU = 'application/x-rtp, media=audio, clock-rate=8000, encoding-name=PCMU, payload=0, timestamp-offset=(uint)0'

/** `K` a key frame, `d` a delta frame, each 40 ms; `s` sound of the time of the picture before it, `o` of two pictures earlier. */
const setUp = (timesSound: boolean) => {
  const clock = { ms: 1000 }
  const options = { timeline: new Timeline(0), now: () => clock.ms }
  const { stream: video } = beginStream(options, H264_CAPS)
  const { stream: sound } = beginStream({ ...options, follows: video }, PCMU)
  const sent: { track: number; unit: AccessUnit; timestamp: number | undefined }[] = []
  const sink: Sink = {
    busy: false,
    timesSound,
    stuckSinceMs: undefined,
    send: (track, unit, timestamp) => sent.push({ track, unit, timestamp }),
    sendReport: () => {},
    onReady: () => {},
    close: () => {},
  }
  const limits = { queuedBytes: 1_000_000, lagMs: 2000 }
  const reader = new Reader([video, undefined, sound], sink, limits, { bytesOut: 0, gopDrops: 0 })
  video.onUnit((unit) => reader.offer(0, unit))
  sound.onUnit((unit) => reader.offer(2, unit))
  let [pictures, packets] = [0, 0]
  const feed = (pattern: string): void => {
    for (const kind of pattern) {
      const isSound = kind === 's' || kind === 'o'
      if (!isSound) pictures += 1
      clock.ms = 1000 + pictures * 40
      const at = Math.max(0, pictures - (kind === 'o' ? 3 : 1))
      const payload = isSound ? Buffer.alloc(320) : Buffer.concat([kind === 'K' ? IDR : SLICE, Buffer.alloc(50)])
      const packet = rtpPacket({ sequence: isSound ? packets++ : pictures, timestamp: at * (isSound ? 320 : 3600), payload })
      ;(isSound ? sound : video).ingestPacket(packet)
    }
  }
  const kinds = (): string => sent.map(({ track, unit }) => (track === 2 ? 's' : unit.key ? 'K' : 'd')).join('')
  const play = (): void => {
    reader.prepare(clock.ms)
    reader.start()
  }
  return { feed, kinds, sent, play }
}

it('a reader whose cached pictures are shown at once begins with the newest sound, at its own time', () => {
  const { feed, play, kinds, sent } = setUp(false)
  feed('KsdsKsdsdsds')
  play()
  feed('ds')
  expect(kinds()).toBe('Kddsdsds')
  expect(sent.filter(({ track, timestamp }) => track === 2 && timestamp !== undefined)).toEqual([])
})

it('a reader that gets the pictures with their own times gets all sound since the key frame, as it came', () => {
  const { feed, play, kinds } = setUp(true)
  feed('KsdsKsdsdsds')
  play()
  feed('ds')
  expect(kinds()).toBe('Ksdsdsdsds')
})

it('sound waits for the first picture', () => {
  const { feed, play, kinds } = setUp(false)
  play()
  feed('ssdsKsds')
  expect(kinds()).toBe('Ksds')
})

it('a source without sound, and one whose sound begins later, plays as any other', () => {
  const { feed, play, kinds } = setUp(false)
  feed('Kddd')
  play()
  feed('dsdKd')
  expect(kinds()).toBe('KddddsdKd')
})

it('sound that comes late does not begin before the first picture', () => {
  const { feed, play, kinds } = setUp(false)
  play()
  feed('ddddKoosds')
  expect(kinds()).toBe('Ksds')
})
