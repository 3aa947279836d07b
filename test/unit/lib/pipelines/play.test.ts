import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../../lib/errors.ts'
import { playPipeline } from '../../../../lib/pipelines/play.ts'
import { createTestApi } from '../../../helpers/api/api.ts'

const CREATE = { id: 'cam', mode: 'simple', source: { uri: 'rtsp://10.0.0.5/stream' }, on_demand: true }

describe('the state that a pipeline comes back to', () => {
  it('is playing before the engine is asked to play: it may end right after its answer', async () => {
    await using api = await createTestApi()
    expect((await api.send('POST', '/svc/pipeline', CREATE)).status).toBe(201)
    const stored: unknown[] = []
    const { play } = api.deps.engine
    const engine = {
      ...api.deps.engine,
      play: async (...args: Parameters<typeof play>) => {
        stored.push((await api.deps.pipelines.find('cam'))?.desired)
        return play(...args)
      },
    }
    await playPipeline({ ...api.deps, engine }, 'cam')
    expect(stored).toEqual(['playing'])
  })

  it('is as before when the play has failed and the engine is gone', async () => {
    await using api = await createTestApi()
    expect((await api.send('POST', '/svc/pipeline', CREATE)).status).toBe(201)
    const gone = async (): Promise<never> => {
      throw new ApiError('SERVICE_UNAVAILABLE', 'The media engine is not available right now.', { reason: 'engine_unavailable' })
    }
    await expect(playPipeline({ ...api.deps, engine: { ...api.deps.engine, play: gone, view: gone } }, 'cam')).rejects.toThrow('engine')
    expect((await api.deps.pipelines.find('cam'))?.desired).toBe('ready')
  })
})
