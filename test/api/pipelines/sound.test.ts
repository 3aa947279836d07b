import { describe } from 'vitest'
import { simple, type TestApi } from '../../helpers/api/api.ts'
import { row, testRows } from '../../helpers/api/rows.ts'

const silentByDefault = (api: TestApi) => api.send('PUT', '/svc/settings', { audio_default: 'off' })
const CAM = simple('cam-1', { on_demand: true })

describe('the sound of a pipeline', () => {
  testRows([
    row('is that of the source', ['POST /svc/pipeline', CAM], 201, '"audio":"copy","audio_bitrate":null'),
    row('is left out where the settings say so', ['POST /svc/pipeline', CAM], 201, '"audio":"off"', { given: silentByDefault }),
    row('is what the request states', ['POST /svc/pipeline', { ...CAM, audio: 'aac', audio_bitrate: 96 }], 201, [
      '"audio":"aac"',
      '"audio_bitrate":96',
    ]),
    row('stays off when a client that does not know it replaces the pipeline', ['PUT /svc/pipeline/cam-1', CAM], 200, '"audio":"off"', {
      given: (api) => api.given({ ...CAM, audio: 'off' }),
    }),
    row('can be neither encoded nor copied by default', ['PUT /svc/settings', { audio_default: 'aac' }], 400, 'audio_default'),
  ])
})
