import { ApiError } from '../../lib/errors.ts'
import { API_KEY, advanced, simple, type TestApi } from '../helpers/api/api.ts'
import { type ApiRow, testRows } from './api-rows.ts'

const ADVICE = 'No encoder for H.264 is installed. Install one: apt-get install gstreamer1.0-plugins-ugly'

const missing = async (api: TestApi): Promise<void> => {
  api.engine.checkFault = new ApiError('ENGINE_ERROR', ADVICE, { cause: ADVICE, reason: 'missing_element' })
}

const encoded = simple('cam-1', { encoding: { codec: 'h264' }, on_demand: true })

const requests: readonly (readonly [name: string, request: ApiRow['request'], given?: (api: TestApi) => Promise<unknown>])[] = [
  ['create', ['POST', '/svc/pipeline', encoded]],
  ['create of an advanced pipeline', ['POST', '/svc/pipeline', advanced('cam-1')]],
  ['validate', ['POST', '/svc/pipeline/validate', encoded]],
  ['replace', ['PUT', '/svc/pipeline/cam-1', encoded], (api) => api.given(simple('cam-1', { on_demand: true }))],
  ['publish of a stream', ['PUT', '/svc/triggers/mediaServer/publish?path=cam-1', undefined, { 'x-api-key': API_KEY }]],
]

testRows(
  requests.map(
    ([name, request, given]): ApiRow => ({
      name: `${name} says which package is missing`,
      given: async (api) => {
        await given?.(api)
        await missing(api)
      },
      request,
      status: 500,
      contains: ['"code":"ENGINE_ERROR"', '"reason":"missing_element"', 'apt-get install gstreamer1.0-plugins-ugly'],
    }),
  ),
)
