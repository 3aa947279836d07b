import { describe, expect, it } from 'vitest'
import { parseMetrics } from '../helpers/api/prometheus.ts'
import { childrenOf } from '../helpers/process/processes.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { openReader } from '../helpers/rtsp/reader.ts'
import { until } from '../helpers/until.ts'

const BALL = { mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }
const LABELS = { pipeline_id: 'counted' }

const childOf = (service: Service): number => {
  const [child] = childrenOf(service.enginePid())
  if (child === undefined) throw new Error('The engine has no child')
  return child.pid
}

const scrape = async (service: Service) => {
  const { status, body } = await service.request('GET', '/svc/metrics')
  expect(status).toBe(200)
  return parseMetrics(body)
}

describe('metrics', () => {
  it('show a pipeline, its reader, its restart and its removal', async () => {
    const service = await startService()
    const { body } = await service.request('POST', '/svc/pipeline', { id: 'counted', ...BALL })
    const reader = await openReader(body.output.uri.replace('0.0.0.0', '127.0.0.1'))
    await reader.until(() => reader.count > 20)
    const { repeated, value } = await scrape(service)
    expect(repeated).toEqual([])
    expect(value('svc_engine_up')).toBe(1)
    expect(value('svc_pipelines', { phase: 'playing' })).toBe(1)
    expect(value('svc_pipeline_readers', LABELS)).toBe(1)
    expect(value('svc_rtsp_connections')).toBe(1)
    expect(value('svc_pipeline_frames_total', LABELS)).toBeGreaterThan(0)
    expect(value('svc_pipeline_received_bytes_total', LABELS)).toBeGreaterThan(0)
    expect(value('svc_pipeline_sent_bytes_total', LABELS)).toBeGreaterThan(0)
    expect(value('svc_pipeline_resident_memory_bytes', LABELS)).toBeGreaterThan(1_000_000)
    expect(value('svc_pipeline_first_frame_seconds_count')).toBe(1)
    expect(value('svc_engine_process_cpu_seconds_total')).toBeGreaterThan(0)
    reader.close()

    const frames = value('svc_pipeline_frames_total', LABELS) ?? 0
    const sent = value('svc_pipeline_sent_bytes_total', LABELS) ?? 0
    process.kill(childOf(service), 'SIGKILL')
    const restarted = await until(
      () => scrape(service),
      (metrics) => metrics.value('svc_pipeline_restarts_total', { ...LABELS, reason: 'crashed' }) === 1,
    )
    expect(restarted.value('svc_pipeline_frames_total', LABELS)).toBeGreaterThanOrEqual(frames)

    await service.request('PUT', '/svc/pipeline/counted/stop')
    const stopped = await scrape(service)
    expect(stopped.value('svc_pipeline_playing', LABELS)).toBe(0)
    expect(stopped.value('svc_pipeline_sent_bytes_total', LABELS)).toBeGreaterThanOrEqual(sent)
    expect(stopped.value('svc_pipeline_resident_memory_bytes', LABELS)).toBeUndefined()
    await service.request('DELETE', '/svc/pipeline/counted')
    expect((await scrape(service)).text).not.toContain('counted')
    await service.stop()
  })

  it('show whether the engine is available', async () => {
    const service = await startService()
    process.kill(service.enginePid(), 'SIGSTOP')
    const away = await scrape(service)
    expect([away.value('svc_engine_up'), away.names.has('svc_pipelines')]).toEqual([0, false])
    expect(away.value('svc_api_uptime_seconds')).toBeGreaterThan(0)
    process.kill(service.enginePid(), 'SIGCONT')
    await until(
      () => scrape(service),
      (metrics) => metrics.value('svc_engine_up') === 1 && metrics.names.has('svc_pipelines'),
    )
    await service.stop()
  })
})
