import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Service, startService } from '../process/service.ts'

/** Runs a measurement on a service of its own, and takes everything away afterwards. */
export const withService = async <T>(work: (service: Service) => Promise<T>): Promise<T> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const service = await startService({ dataDir, env: { SVC_OUTPUT_PORTS: '20000-20999' } })
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
