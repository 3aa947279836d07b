import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import type { Settings } from '../../lib/schema/settings.ts'
import { Fault } from '../fault.ts'
import type { KlvTap } from '../klv/tap.ts'
import type { Planner } from '../launch/plan.ts'
import type { Output } from '../outputs/rtsp.ts'
import type { RtpStream } from '../rtp/stream.ts'
import type { LogRing } from './log-ring.ts'
import { runChild } from './run.ts'

/** What one attempt to play works with. */
export interface AttemptContext {
  readonly config: PipelineConfig
  /** Counts the runs of the pipeline from 1. */
  readonly number: number
  readonly settings: () => Settings
  readonly plan: Planner['plan']
  readonly output: Output
  readonly streams: readonly [RtpStream, RtpStream]
  readonly klv: KlvTap
  readonly ring: LogRing
  readonly log: Log
  /** How the run before ended: it may say how the source wants to be asked. */
  readonly previousFault: Fault | undefined
  readonly onStarted: (pid: number) => void
}

/** One child, from opening the output and asking the source until it is reaped. Undefined: the signal ended it. */
export const attemptRun = async (
  context: AttemptContext,
  startTimeoutMs: number,
  signal: AbortSignal,
  onMedia: () => void,
): Promise<Fault | undefined> => {
  const { config, number, settings, plan, output, streams, klv, ring, previousFault, onStarted } = context
  const began = performance.now()
  try {
    await output.open(config)
    const planned = await plan(config, settings(), { signal, timeoutMs: startTimeoutMs, previousFault })
    if (signal.aborted) return undefined
    if (planned.klv !== null) klv.announce(planned.klv)
    return await runChild({
      number,
      launch: planned.launch,
      streams,
      ring,
      signal,
      startTimeoutMs: Math.max(1, Math.round(startTimeoutMs - (performance.now() - began))),
      stallTimeoutMs: () => settings().stall_timeout_seconds * 1000,
      onStarted: (pid) => {
        onStarted(pid)
        ring.add(number, 'engine', `started process ${pid}`)
      },
      onKlv: () => klv.announce(true),
      onMedia,
    })
  } catch (error) {
    return signal.aborted ? undefined : toFault(error, config.id, context.log)
  }
}

/** What went wrong before or beside a child, as the fault that ends a run. */
export const toFault = (error: unknown, id: string, log: Log): Fault => {
  if (error instanceof Fault) return error
  if (error instanceof ApiError) {
    return new Fault(error.details.reason === 'port_in_use' ? 'port_in_use' : 'bad_description', error.message, { cause: error })
  }
  log.error('pipeline_start_broke', { pipeline_id: id, error })
  return new Fault('crashed', 'The engine failed while it started the pipeline; its log tells more.', { cause: error })
}
