import { expect, it } from 'vitest'
import { ApiError } from '../../../../lib/errors.ts'
import { playPipeline, stopPipeline } from '../../../../lib/pipelines/play.ts'
import { stopScreenshots } from '../../../../lib/pipelines/screenshots.ts'
import { openApi, simple } from '../../../helpers/api/api.ts'

const gone = async (): Promise<never> => {
  throw new ApiError('SERVICE_UNAVAILABLE', 'The media engine is not available right now.', { reason: 'engine_unavailable' })
}

it.each([
  ['playing', 'when the engine ends right after its answer to a play', true, playPipeline, { view: gone }, false],
  ['ready as before', 'when the play has failed and the engine is gone', true, playPipeline, { play: gone, view: gone }, true],
  ['playing as before', 'when the stop has failed and the engine is gone', false, stopPipeline, { stop: gone, view: gone }, true],
])('the state that a pipeline comes back to is %s %s', async (state, _when, on_demand, command, broken, fails) => {
  const api = await openApi(({ given }) => given(simple('cam', { on_demand })))
  const done = command({ ...api.deps, engine: { ...api.deps.engine, ...broken } }, 'cam', {})
  await (fails ? expect(done).rejects.toThrow('engine') : done)
  expect((await api.deps.pipelines.find('cam'))?.desired).toBe(state.split(' ')[0])
})

it('periodic screenshots are still stored when their stop has failed and the engine is gone', async () => {
  const api = await openApi(({ given }) => given(simple('cam')))
  expect((await api.send('PUT', '/svc/pipeline/cam/screenshots/start')).status).toBe(200)
  const stored = (await api.deps.pipelines.find('cam'))?.screenshots
  expect(stored).not.toBeFalsy()
  await expect(stopScreenshots({ ...api.deps, screenshots: { ...api.deps.screenshots, stop: gone } }, 'cam')).rejects.toThrow('engine')
  expect((await api.deps.pipelines.find('cam'))?.screenshots).toEqual(stored)
})
