import { expect, it } from 'vitest'
import { createPipelineRepository } from '../../db/pipelines.ts'
import { createTestApi, simple } from '../helpers/api/api.ts'
import { API_KEY, type TestHost, WORKER_VARIABLES } from '../helpers/api/hosts.ts'
import { type RunningWorker, startWorker } from '../helpers/process/worker-host.ts'

const hostOf = ({ miniflare, database, use }: RunningWorker): TestHost => ({
  name: 'workerd, just started',
  openDatabase: async () => database,
  serve: async (_app, _log, parts) => {
    use(parts)
    const { origin } = await miniflare.ready
    return { origin, fetch: (request) => fetch(request), close: () => miniflare.dispose() }
  },
})

it('deletes a pipeline by a request that finds an engine without settings', async () => {
  await using earlier = await createTestApi()
  await earlier.given(simple('cam-1', { on_demand: true }))
  const record = await earlier.deps.pipelines.find('cam-1')
  if (record === undefined) throw new Error('The pipeline was not stored')
  const worker = await startWorker(WORKER_VARIABLES)
  await createPipelineRepository(worker.database).insert(record)
  await using api = await createTestApi(hostOf(worker))
  expect((await api.send('DELETE', '/svc/pipeline/cam-1', undefined, { 'x-api-key': API_KEY })).status).toBe(204)
  expect(api.engine.settings()).toBeDefined()
  expect(api.engine.ids()).toEqual([])
})
