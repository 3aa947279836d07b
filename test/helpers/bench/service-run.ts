import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Service, startService } from '../process/service.ts'

/** Runs a measurement on a service of its own, which `prefix` begins, and takes everything away afterwards. */
export const withService = async <T>(
  work: (service: Service) => Promise<T>,
  env: Record<string, string> = {},
  prefix: readonly string[] = [],
): Promise<T> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const service = await startService({ dataDir, prefix, env: { SVC_OUTPUT_PORTS: '20000-20999', ...env } })
  try {
    return await work(service)
  } finally {
    await service.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Creates a pipeline; answers the address of its output. */
export const createPipeline = async (service: Service, body: Record<string, unknown>): Promise<string> => {
  const answer = await service.request('POST', '/svc/pipeline', { mode: 'simple', ...body })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return answer.body.output.uri.replace('0.0.0.0', '127.0.0.1')
}

/** So many at once are created by `createIdlePipelines`. */
const CREATED_AT_ONCE = 8

/** Creates on-demand pipelines, which nobody reads. */
export const createIdlePipelines = async (service: Service, count: number): Promise<void> => {
  let next = 0
  const create = async (): Promise<void> => {
    for (let at = next++; at < count; at = next++) {
      await createPipeline(service, { id: `camera-${at}`, on_demand: true, source: { uri: `rtsp://10.0.0.5/stream-${at}` } })
    }
  }
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, create))
}
