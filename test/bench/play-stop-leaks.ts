/** Play and stop again and again: processes, file descriptors and memory of the engine must be level. play-stop-leaks [CYCLES] */

import { createPipeline, withService } from '../helpers/bench/service-run.ts'
import { childrenOf, openFiles, residentBytes } from '../helpers/process/processes.ts'

const cycles = Number(process.argv[2] ?? 50)

await withService(async (service) => {
  const engine = service.enginePid()
  await createPipeline(service, { id: 'cycle', on_demand: true, source: { uri: 'test://ball?width=160&height=120' } })
  const look = () => ({
    children: childrenOf(engine).length,
    files: openFiles(engine),
    rss_mb: Math.round(residentBytes(engine) / 1024 / 1024),
  })
  for (let cycle = 0; cycle <= cycles; cycle += 1) {
    if (cycle % 10 === 0) console.log(JSON.stringify({ cycle, ...look() }))
    const play = await service.request('PUT', '/svc/pipeline/cycle/play')
    const stop = await service.request('PUT', '/svc/pipeline/cycle/stop')
    if (play.status !== 200 || stop.status !== 200) throw new Error(JSON.stringify([play.body, stop.body]))
  }
})
