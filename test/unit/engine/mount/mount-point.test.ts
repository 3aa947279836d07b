import { beforeEach, describe, expect, it, vi } from 'vitest'
import { MountPoint } from '../../../../engine/mount/mount-point.ts'
import { parseRtpCaps } from '../../../../engine/rtp/caps.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { fakeTimersInEachTest } from '../../../helpers/fake-timers.ts'
import { H264_CAPS, IDR, KLV_CAPS, rtpPacket } from '../../../helpers/rtsp/packets.ts'

const capsOf = (text: string) => parseRtpCaps(text) ?? expect.fail('no caps')

/** A mount of a video that plays, and of a second track that is to come. */
const setUp = ({ sure = false } = {}) => {
  const [video, klv] = [new RtpStream(), new RtpStream()]
  const options = { streams: [video, klv], maxReaders: () => 9, describeTimeoutMs: () => 9000 }
  const mount = new MountPoint({ host: '127.0.0.1', port: 1, path: 'cam' }, options, { cname: 'test', wallMs: (ms) => ms, reportMs: 5000 })
  klv.begin({ caps: null, sure })
  video.begin()
  video.setCaps(capsOf(H264_CAPS))
  for (const timestamp of [0, 3000])
    video.ingestPacket(rtpPacket({ sequence: timestamp / 3000, timestamp, payload: Buffer.concat([IDR, Buffer.alloc(9)]) }))
  return { mount, klv }
}

describe('a description', () => {
  const settled = vi.fn()
  const describeIn = async (ms: number, mount: MountPoint): Promise<boolean> => {
    void mount.untilReady(new AbortController().signal).then(settled)
    await vi.advanceTimersByTimeAsync(ms)
    return settled.mock.calls.length > 0
  }
  fakeTimersInEachTest()
  beforeEach(() => void settled.mockClear())

  it.each<[string, (parts: ReturnType<typeof setUp>) => void]>([
    ['until it is there', ({ klv }) => klv.setCaps(capsOf(KLV_CAPS))],
    ['for a second at most', () => vi.advanceTimersByTime(100)],
    ['until the mount closes', ({ mount }) => mount.close()],
  ])('waits for a track that is to come %s', async (_, end) => {
    const parts = setUp()
    expect(await describeIn(950, parts.mount)).toBe(false)
    end(parts)
    await vi.advanceTimersByTimeAsync(0)
    expect(settled).toHaveBeenCalledOnce()
  })

  it('waits longer for one that is sure to come, as on a busy host', async () => {
    const { mount, klv } = setUp({ sure: true })
    expect(await describeIn(2900, mount)).toBe(false)
    klv.setCaps(capsOf(KLV_CAPS))
    await vi.advanceTimersByTimeAsync(0)
    expect(settled).toHaveBeenCalledOnce()
  })

  it('does not wait again for one that did not come', async () => {
    const { mount } = setUp()
    vi.advanceTimersByTime(1000)
    expect(await describeIn(0, mount)).toBe(true)
  })
})
