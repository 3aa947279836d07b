import { PHASES, PUSH_STATES } from '../../lib/schema/pipeline.ts'
import type { CotCounts } from '../cot/sender.ts'
import type { KlvCounts } from '../klv/tap.ts'
import type { PipelineFacts } from '../pipelines/media.ts'
import type { PushFacts } from '../push/push.ts'
import type { ProcessUsage } from './process-usage.ts'

interface MeasuredPipeline extends PipelineFacts {
  readonly process: ProcessUsage | undefined
  /** Restarts by the fault that caused them. */
  readonly restarts: ReadonlyMap<string, number>
}

/** The input of one scrape. */
export interface EngineFacts {
  readonly pipelines: readonly MeasuredPipeline[]
  readonly klv: readonly KlvCounts[]
  readonly cot: CotCounts
  readonly rtspConnections: number
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number]

export interface MetricRow {
  readonly kind: 'gauge' | 'counter'
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly samples: (facts: EngineFacts) => readonly Sample[]
}

/** A metric with one sample per pipeline; none where the value is undefined. */
const perPipeline = (
  kind: MetricRow['kind'],
  name: string,
  help: string,
  value: (pipeline: MeasuredPipeline) => number | undefined,
): MetricRow => ({
  kind,
  name,
  help,
  labels: ['pipeline_id'],
  samples: ({ pipelines }) =>
    pipelines.flatMap((pipeline): readonly Sample[] => {
      const known = value(pipeline)
      return known === undefined ? [] : [[{ pipeline_id: pipeline.view.id }, known]]
    }),
})

/** A metric with samples per push, labelled by its place in the configuration, since an address may hold a secret. */
const perPush = (
  kind: MetricRow['kind'],
  name: string,
  help: string,
  values: (push: PushFacts) => readonly Sample[],
  labels: readonly string[] = [],
): MetricRow => ({
  kind,
  name,
  help,
  labels: ['pipeline_id', 'push', ...labels],
  samples: ({ pipelines }) =>
    pipelines.flatMap(({ view, pushes }) =>
      pushes.flatMap((push) =>
        values(push).map(([own, value]): Sample => [{ pipeline_id: view.id, push: String(push.number), ...own }, value]),
      ),
    ),
})

const inSeconds = (ms: number | null): number | undefined => (ms === null ? undefined : ms / 1000)

/** The engine's metrics with a present value; the histogram of first frames is in metrics.ts. */
export const ENGINE_METRICS: readonly MetricRow[] = [
  {
    kind: 'gauge',
    name: 'svc_pipelines',
    help: 'Registered pipelines by phase.',
    labels: ['phase'],
    samples: ({ pipelines }) =>
      PHASES.map((phase) => [{ phase }, pipelines.filter(({ view }) => view.runtime.phase === phase).length] as const),
  },
  perPipeline('gauge', 'svc_pipeline_playing', 'Whether media flows (1) or not (0).', ({ view }) =>
    view.runtime.phase === 'playing' ? 1 : 0,
  ),
  perPipeline('gauge', 'svc_pipeline_readers', 'Readers, over RTSP and of live video over HTTP.', ({ view }) => view.runtime.readers),
  perPipeline(
    'counter',
    'svc_pipeline_frames_total',
    'Video access units received from the child or the source.',
    ({ media }) => media.frames,
  ),
  perPipeline(
    'counter',
    'svc_pipeline_received_bytes_total',
    'RTP bytes received from the child or the source.',
    ({ media }) => media.bytesIn,
  ),
  perPipeline('counter', 'svc_pipeline_sent_bytes_total', 'Bytes sent to readers.', ({ media }) => media.bytesOut),
  perPipeline(
    'counter',
    'svc_pipeline_malformed_packets_total',
    'Packets from the child or the source that are not valid RTP.',
    ({ media }) => media.malformedPackets,
  ),
  perPipeline(
    'counter',
    'svc_pipeline_source_gaps_total',
    'Times that packets of the source were missing: RTP that the engine reads, and MPEG-TS over UDP, SRT and HTTP.',
    ({ media }) => media.gaps,
  ),
  perPipeline('counter', 'svc_pipeline_gop_drops_total', 'Times that a slow reader lost its queue.', ({ media }) => media.gopDrops),
  perPipeline(
    'gauge',
    'svc_pipeline_reader_loss_ratio',
    'Highest packet loss in the newest reports of UDP readers, 0 to 1.',
    ({ media }) => media.worstLoss,
  ),
  perPipeline('gauge', 'svc_pipeline_last_frame_age_seconds', 'Time since the newest frame of the present play.', ({ view }) =>
    inSeconds(view.runtime.last_frame_age_ms),
  ),
  perPipeline(
    'counter',
    'svc_pipeline_cpu_seconds_total',
    'CPU time of the present child, user and system; none without a child.',
    ({ process }) => process?.cpuSeconds,
  ),
  perPipeline(
    'gauge',
    'svc_pipeline_resident_memory_bytes',
    'Resident memory of the present child; none without a child.',
    ({ process }) => process?.residentBytes,
  ),
  {
    kind: 'counter',
    name: 'svc_pipeline_restarts_total',
    help: 'Restarts of the child by the fault that caused them.',
    labels: ['pipeline_id', 'reason'],
    samples: ({ pipelines }) =>
      pipelines.flatMap(({ view, restarts }) => [...restarts].map(([reason, count]) => [{ pipeline_id: view.id, reason }, count] as const)),
  },
  perPush(
    'gauge',
    'svc_push_state',
    'State of a push: 1 for the present one, 0 for the others.',
    ({ state }) => PUSH_STATES.map((each) => [{ state: each }, each === state ? 1 : 0]),
    ['state'],
  ),
  perPush('counter', 'svc_push_sent_bytes_total', 'Bytes sent to the receiver of a push since the last play.', ({ bytes }) => [
    [{}, bytes],
  ]),
  perPush('counter', 'svc_push_restarts_total', 'Connections of a push after its first.', ({ restarts }) => [[{}, restarts]]),
  {
    kind: 'gauge',
    name: 'svc_rtsp_connections',
    help: 'RTSP connections, with and without a session.',
    labels: [],
    samples: ({ rtspConnections }) => [[{}, rtspConnections]],
  },
  {
    kind: 'counter',
    name: 'svc_klv_packets_total',
    help: 'KLV packets by decoding result.',
    labels: ['pipeline_id', 'result'],
    samples: ({ klv }) =>
      klv.flatMap(({ pipelineId: pipeline_id, decoded, badChecksum, malformed }) => [
        [{ pipeline_id, result: 'decoded' }, decoded] as const,
        [{ pipeline_id, result: 'bad_checksum' }, badChecksum] as const,
        [{ pipeline_id, result: 'malformed' }, malformed] as const,
      ]),
  },
  {
    kind: 'counter',
    name: 'svc_klv_gaps_total',
    help: 'Gaps in the sequence of KLV packets.',
    labels: ['pipeline_id'],
    samples: ({ klv }) => klv.map(({ pipelineId, gaps }) => [{ pipeline_id: pipelineId }, gaps] as const),
  },
  {
    kind: 'counter',
    name: 'svc_cot_events_total',
    help: 'Cursor on Target events by what became of them; dropped: the receiver was away.',
    labels: ['result'],
    samples: ({ cot: { sent, dropped } }) => [
      [{ result: 'sent' }, sent],
      [{ result: 'dropped' }, dropped],
    ],
  },
  {
    kind: 'gauge',
    name: 'svc_cot_connected',
    help: 'Whether the receiver of Cursor on Target events is connected (1) or not (0); absent without a receiver.',
    labels: [],
    samples: ({ cot: { connected } }) => (connected === undefined ? [] : [[{}, connected ? 1 : 0]]),
  },
]
