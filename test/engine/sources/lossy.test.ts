import { expect, it, onTestFinished } from 'vitest'
import { send, TS } from '../../helpers/media/play-launch.ts'
import { playSource } from '../../helpers/media/play-source.ts'
import { freeUdpPort } from '../../helpers/ports.ts'
import { until } from '../../helpers/until.ts'

it('the log of a source that loses packets says so once, and keeps its other lines; each gap counts', async () => {
  const port = await freeUdpPort()
  const play = await playSource(`udp://127.0.0.1:${port}`)
  onTestFinished(
    send(`${TS.H264.replace('alignment=7', 'alignment=1')} ! identity drop-probability=0.02 ! udpsink host=127.0.0.1 port=${port}`),
  )
  await play.media()
  await until(() => play.log().some((line) => line.includes('are lost')), Boolean, 10_000)
  const seen = play.video.length
  await until(() => play.video.length > seen + 5, Boolean, 10_000)
  expect(play.log().filter((line) => line.includes('packets of the MPEG-TS are lost'))).toHaveLength(1)
  expect(play.log().filter((line) => /CONTINUITY|Additional debug info|tsdemux\.c/.test(line))).toEqual([])
  expect(play.streams[0].stats.gaps).toBeGreaterThan(0)
}, 30_000)
