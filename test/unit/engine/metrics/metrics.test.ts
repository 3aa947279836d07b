import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import dashboard from '../../../../engine/deploy/grafana-dashboard.json' with { type: 'json' }
import { MetricsHistory } from '../../../../engine/metrics/history.ts'
import { createEngineMetrics, type EngineMetricsSources } from '../../../../engine/metrics/metrics.ts'
import { readProcessUsage } from '../../../../engine/metrics/process-usage.ts'
import type { PipelineFacts } from '../../../../engine/pipelines/media.ts'
import { createApiMetrics } from '../../../../handlers/node/metrics.ts'
import type { NumberedEvent } from '../../../../lib/engine/messages.ts'
import { readMetrics } from '../../../../lib/health/metrics.ts'
import type { Phase, Runtime } from '../../../../lib/schema/pipeline.ts'
import { type ParsedMetrics, parseMetrics } from '../../../helpers/api/prometheus.ts'
import { pipelineView as view } from '../../../helpers/fakes/pipeline-view.ts'

const MEDIA = { frames: 10, bytesIn: 2000, malformedPackets: 1, gaps: 3, bytesOut: 6000, gopDrops: 2, worstLoss: 0.25 }
const PLAYING: PipelineFacts = {
  view: view('a', { phase: 'playing', readers: 3, last_frame_age_ms: 40 }),
  pid: process.pid,
  media: MEDIA,
  pushes: [
    { number: 1, state: 'sending', bytes: 188_000, restarts: 2 },
    { number: 2, state: 'waiting', bytes: 0, restarts: 9 },
  ],
}
const IDLE: PipelineFacts = { view: view('b', {}), pid: undefined, media: { ...MEDIA, frames: 0 }, pushes: [] }

/** The engine's metrics for pipelines and events set by the test. */
const setUp = (more: Partial<EngineMetricsSources> = {}) => {
  const world = { pipelines: [PLAYING, IDLE] as PipelineFacts[], emit: (_event: NumberedEvent): void => {} }
  const text = createEngineMetrics({
    supervisor: {
      measure: () => world.pipelines,
      subscribe: (listener) => {
        world.emit = listener
        return () => {}
      },
    },
    publisher: { connections: 4 },
    ...more,
  })
  return { world, text, scrape: async () => parseMetrics(await text()) }
}

const status = (runtime: Partial<Runtime>, id = 'a'): NumberedEvent => ({ type: 'pipeline', view: view(id, runtime) })
const fault = (reason: string, id = 'a'): NumberedEvent => ({
  type: 'pipeline_error',
  id,
  code: 'ENGINE_ERROR',
  message: 'm',
  cause: 'm',
  reason,
  revision: 1,
})

describe("the engine's metrics", () => {
  it('have the values at the time of the scrape', async () => {
    const { text } = setUp({
      klv: () => [{ pipelineId: 'a', decoded: 7, badChecksum: 1, malformed: 0, gaps: 2 }],
      cot: () => ({ sent: 5, dropped: 3, connected: false }),
    })
    const lines = (await text()).split('\n')
    expect(lines).toEqual(
      expect.arrayContaining([
        'svc_pipelines{phase="playing"} 1',
        'svc_pipelines{phase="idle"} 1',
        'svc_pipelines{phase="failed"} 0',
        'svc_pipeline_playing{pipeline_id="a"} 1',
        'svc_pipeline_readers{pipeline_id="a"} 3',
        'svc_pipeline_frames_total{pipeline_id="a"} 10',
        'svc_pipeline_received_bytes_total{pipeline_id="a"} 2000',
        'svc_pipeline_sent_bytes_total{pipeline_id="a"} 6000',
        'svc_pipeline_malformed_packets_total{pipeline_id="a"} 1',
        'svc_pipeline_source_gaps_total{pipeline_id="a"} 3',
        'svc_pipeline_gop_drops_total{pipeline_id="a"} 2',
        'svc_pipeline_reader_loss_ratio{pipeline_id="a"} 0.25',
        'svc_pipeline_last_frame_age_seconds{pipeline_id="a"} 0.04',
        expect.stringMatching(/^svc_pipeline_resident_memory_bytes{pipeline_id="a"} \d{8,}$/),
        'svc_push_sent_bytes_total{pipeline_id="a",push="1"} 188000',
        'svc_push_restarts_total{pipeline_id="a",push="2"} 9',
        'svc_push_state{pipeline_id="a",push="1",state="waiting"} 0',
        'svc_push_state{pipeline_id="a",push="2",state="waiting"} 1',
        'svc_rtsp_connections 4',
        'svc_klv_packets_total{pipeline_id="a",result="decoded"} 7',
        'svc_klv_packets_total{pipeline_id="a",result="bad_checksum"} 1',
        'svc_klv_gaps_total{pipeline_id="a"} 2',
        'svc_cot_events_total{result="sent"} 5',
        'svc_cot_events_total{result="dropped"} 3',
        'svc_cot_connected 0',
      ]),
    )
    // A pipeline at rest has neither frames nor a process.
    expect(lines.filter((line) => /(last_frame_age|resident_memory).*"b"/.test(line))).toEqual([])
  })

  it('are the same without activity between two scrapes: totals are not added up', async () => {
    const { scrape } = setUp()
    await scrape()
    const { value } = await scrape()
    expect(value('svc_pipeline_frames_total', { pipeline_id: 'a' })).toBe(10)
  })

  it('drop a removed pipeline, so that labels do not accumulate', async () => {
    const { world, text } = setUp()
    world.emit(fault('crashed'))
    world.emit(status({ phase: 'reconnecting', restarts: 1 }))
    expect(await text()).toContain('pipeline_id="a",reason="crashed"')
    world.emit({ type: 'pipeline_removed', id: 'a', revision: 1 })
    world.pipelines = [IDLE]
    expect(await text()).not.toContain('pipeline_id="a"')
  })

  it('count restarts by the fault that caused them, over any number of plays', async () => {
    const { world, scrape } = setUp()
    for (const event of [
      fault('ended'),
      status({ phase: 'reconnecting', restarts: 1 }),
      fault('unreachable'),
      status({ phase: 'reconnecting', restarts: 2 }),
      status({ phase: 'playing', restarts: 2 }),
      status({ phase: 'idle' }),
      fault('ended'),
      status({ phase: 'reconnecting', restarts: 1 }),
    ]) {
      world.emit(event)
    }
    const { value } = await scrape()
    expect(value('svc_pipeline_restarts_total', { pipeline_id: 'a', reason: 'ended' })).toBe(2)
    expect(value('svc_pipeline_restarts_total', { pipeline_id: 'a', reason: 'unreachable' })).toBe(1)
  })
})

describe('the time to the first frame', () => {
  const observed = (...events: NumberedEvent[]): number[] => {
    const seconds: number[] = []
    const metrics = new MetricsHistory((value) => void seconds.push(value))
    for (const event of events) metrics.record(event)
    return seconds
  }
  const at = (ms: number) => new Date(Date.parse('2026-11-20T10:00:00.000Z') + ms).toISOString()

  it.each([
    ['lasts from the beginning of a start to playing', [0.75], 'starting 0, playing 750'],
    ['is observed once per start, not for recoveries', [0.1], 'starting 0, playing 100, playing 100, reconnecting 200, playing 300'],
    ['is not observed for a failed start', [], 'starting 400, failed 500'],
    ['is not negative when the clock is set back', [0], 'starting 900, playing 0'],
  ])('%s', (_what, seconds, phases) => {
    const moments = phases.split(', ').map((moment) => moment.split(' ') as [Phase, string])
    expect(observed(...moments.map(([phase, ms]) => status({ phase, since: at(Number(ms)) })))).toEqual(seconds)
  })
})

describe('the usage of a process', () => {
  it('is read from /proc', () => {
    const usage = readProcessUsage(process.pid)
    const own = process.cpuUsage()
    // proc(5) has a resolution of a hundredth of a second.
    expect(usage?.cpuSeconds).toBeCloseTo((own.user + own.system) / 1e6, 0)
    expect(usage?.residentBytes).toBeGreaterThan(10_000_000)
  })

  it('is undefined when the process has exited', async () => {
    const child = spawn('true')
    await once(child, 'exit')
    expect(readProcessUsage(child.pid ?? 0)).toBeUndefined()
  })
})

/** All metrics of a service, each with at least one sample. */
const allMetrics = async (): Promise<ParsedMetrics> => {
  const { world, text } = setUp({ klv: () => [{ pipelineId: 'a', decoded: 1, badChecksum: 0, malformed: 0, gaps: 0 }] })
  world.emit(fault('crashed'))
  world.emit(status({ phase: 'reconnecting', restarts: 1 }))
  const metrics = createApiMetrics({ sseClients: () => 1 })
  metrics.answered({ method: 'GET', route: '/svc/pipeline', status: 200, seconds: 0.01 })
  return parseMetrics(await readMetrics({ metrics, engineMetrics: text }))
}

describe('the names', () => {
  it('begin with svc_ and are declared once, and counters end with _total', async () => {
    const { names, repeated, text } = await allMetrics()
    expect(repeated).toEqual([])
    for (const name of names) expect(name).toMatch(/^svc_[a-z0-9_]+$/)
    for (const [, name = ''] of text.matchAll(/^# TYPE (\S+) counter$/gm)) expect(name).toMatch(/_total$/)
    for (const name of names) expect(name).not.toMatch(/_(ms|milliseconds|kb|kbps|mb|percent)(_|$)/)
  })
})

describe('the Grafana dashboard', () => {
  const expressions = dashboard.panels.flatMap((panel) => ('targets' in panel ? (panel.targets ?? []) : [])).map(({ expr }) => expr)
  const queries = [
    ...expressions,
    ...dashboard.templating.list.flatMap((variable) => ('definition' in variable ? [variable.definition ?? ''] : [])),
  ]

  it('uses only existing metrics and labels', async () => {
    const { samples } = await allMetrics()
    for (const query of queries) {
      const used = [...query.matchAll(/\b(svc_\w+)(?:\{([^}]*)\})?/g)]
      expect(used.length, query).toBeGreaterThan(0)
      for (const [, name = '', selector = ''] of used) {
        expect([...samples.keys()]).toContain(name)
        for (const [, label = ''] of selector.matchAll(/(\w+)(?==~?")/g)) expect([...(samples.get(name) ?? [])]).toContain(label)
      }
      const grouped = [...query.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '))
      const known = new Set(used.flatMap(([, name = '']) => [...(samples.get(name) ?? [])]))
      for (const label of grouped) expect([...known], query).toContain(label)
    }
  })

  it('shows counters as rates, and shows every metric of the pipelines', async () => {
    const { names, text } = await allMetrics()
    const counters = [...text.matchAll(/^# TYPE (\S+) counter$/gm)].map(([, name = '']) => name)
    for (const query of expressions) {
      for (const [name] of query.matchAll(/svc_\w+_total/g))
        expect([counters.includes(name), /(rate|increase)\(/.test(query)]).toEqual([true, true])
    }
    const shown = new Set(
      queries.flatMap((query) => [...query.matchAll(/svc_\w+/g)].map(([name]) => name.replace(/_(bucket|count|sum)$/, ''))),
    )
    const own = [...names].filter((name) => !/^svc_(api|engine)_/.test(name))
    expect(own.filter((name) => !shown.has(name))).toEqual([])
  })

  it('has panels with unique ids inside the grid', () => {
    const ids = dashboard.panels.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
  })
})
