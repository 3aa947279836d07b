import { describe } from 'vitest'
import { type ContractEngine, engineContract } from '../../../engine/http/contract.ts'
import { createFakeCameras, fakeCamera } from '../../../helpers/fakes/cameras.ts'
import { createFakeEngine } from '../../../helpers/fakes/engine.ts'
import { fakeHasher, startFakeEngineServer } from '../../../helpers/fakes/engine-server.ts'
import { createFakeKlv, klvPacket } from '../../../helpers/fakes/klv.ts'
import { createFakeLive } from '../../../helpers/fakes/live.ts'
import { createFakeRecordings } from '../../../helpers/fakes/recordings.ts'
import { createFakeScreenshots } from '../../../helpers/fakes/screenshots.ts'

const TOKEN = 'a-secret-of-the-fake-engine'

const start = async (): Promise<ContractEngine> => {
  const engine = createFakeEngine()
  const screenshots = createFakeScreenshots(engine)
  const recordings = createFakeRecordings(engine)
  const klv = createFakeKlv(engine)
  const live = createFakeLive(engine)
  const cameras = createFakeCameras()
  const server = await startFakeEngineServer(() => ({ engine, screenshots, recordings, klv, live, cameras, hasher: fakeHasher }), TOKEN)
  klv.carriers.add('contract')
  cameras.plug(fakeCamera(0))
  return {
    url: server.url,
    token: TOKEN,
    close: server.close,
    sendKlv: (id) => klv.send({ ...klvPacket(id, 48), values: { corner_longitude_point_1_full: 8 } }),
    addRecording: (pipeline_id) => {
      recordings.spans = [{ pipeline_id, from: 0, to: 4000, bytes: 188, tracks: ['h264'] }]
    },
    addScreenshot: (pipeline_id) => {
      const [created_at, size] = ['2026-11-20T10:00:00.000Z', { width: 160, height: 120 }]
      const file = `${pipeline_id}_20261120T100000000Z.jpg`
      if (!screenshots.files.some((known) => known.file === file))
        screenshots.files.unshift({ file, pipeline_id, created_at, size_bytes: 4, ...size, geolocation: null })
    },
  }
}

describe('the fake engine', () => engineContract(start))
