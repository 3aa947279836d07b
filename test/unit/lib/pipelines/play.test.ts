import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../../lib/errors.ts'
import { playPipeline, stopPipeline } from '../../../../lib/pipelines/play.ts'
import { stopScreenshots } from '../../../../lib/pipelines/screenshots.ts'
import { createTestApi } from '../../../helpers/api/api.ts'

const CREATE = { id: 'cam', mode: 'simple', source: { uri: 'rtsp://10.0.0.5/stream' }, on_demand: true }

const gone = async (): Promise<never> => {
  throw new ApiError('SERVICE_UNAVAILABLE', 'The media engine is not available right now.', { reason: 'engine_unavailable' })
}

describe('the state that a pipeline comes back to', () => {
  it('is playing when the engine ends right after its answer', async () => {
    await using api = await createTestApi()
    expect((await api.send('POST', '/svc/pipeline', CREATE)).status).toBe(201)
    await playPipeline({ ...api.deps, engine: { ...api.deps.engine, view: gone } }, 'cam')
    expect((await api.deps.pipelines.find('cam'))?.desired).toBe('playing')
  })

  it('is as before when the play has failed and the engine is gone', async () => {
    await using api = await createTestApi()
    expect((await api.send('POST', '/svc/pipeline', CREATE)).status).toBe(201)
    await expect(playPipeline({ ...api.deps, engine: { ...api.deps.engine, play: gone, view: gone } }, 'cam')).rejects.toThrow('engine')
    expect((await api.deps.pipelines.find('cam'))?.desired).toBe('ready')
  })

  it('is as before when the stop has failed and the engine is gone', async () => {
    await using api = await createTestApi()
    expect((await api.send('POST', '/svc/pipeline', { ...CREATE, on_demand: false })).status).toBe(201)
    const stop = stopPipeline({ ...api.deps, engine: { ...api.deps.engine, stop: gone, view: gone } }, 'cam')
    await expect(stop).rejects.toThrow('engine')
    expect((await api.deps.pipelines.find('cam'))?.desired).toBe('playing')
  })
})

describe('periodic screenshots', () => {
  it('are still stored when their stop has failed and the engine is gone', async () => {
    await using api = await createTestApi()
    expect((await api.send('POST', '/svc/pipeline', { ...CREATE, on_demand: false })).status).toBe(201)
    expect((await api.send('PUT', '/svc/pipeline/cam/screenshots/start')).status).toBe(200)
    const stored = (await api.deps.pipelines.find('cam'))?.screenshots
    expect(stored).not.toBeFalsy()
    await expect(stopScreenshots({ ...api.deps, screenshots: { ...api.deps.screenshots, stop: gone } }, 'cam')).rejects.toThrow('engine')
    expect((await api.deps.pipelines.find('cam'))?.screenshots).toEqual(stored)
  })
})
