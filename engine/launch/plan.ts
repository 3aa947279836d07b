import type { EngineCheck } from '../../lib/ports.ts'
import { type PipelineConfig, type SimpleConfig, sourceScheme } from '../../lib/schema/pipeline.ts'
import type { Settings } from '../../lib/schema/settings.ts'
import type { CameraMonitor } from '../cameras/monitor.ts'
import type { Fault } from '../fault.ts'
import { runToEnd } from '../gst/child.ts'
import { chooseEncoder } from '../gst/choose-encoder.ts'
import { type ProbeContext, probeSource } from '../sources/probe.ts'
import { advancedLaunch, checkAdvanced } from './advanced.ts'
import { type Launch, showLaunch } from './launch.ts'
import { checkSimple, encodedCodec, simpleLaunch } from './simple.ts'

/** What an attempt runs, and what the probe of its source found. */
export interface Plan {
  readonly launch: Launch
  /** Whether the source carries KLV; null when only its data tells. */
  readonly klv: boolean | null
}

export interface Planner {
  /** Checks a configuration without running it and without probing its source. Throws VALIDATION_ERROR. */
  readonly check: (config: PipelineConfig, settings: Settings) => Promise<EngineCheck>
  /** Probes the source and plans the launch for it; the fault of the run before may change both. Throws Fault. */
  readonly plan: (
    config: PipelineConfig,
    settings: Settings,
    attempt: { readonly signal: AbortSignal; readonly timeoutMs: number; readonly previousFault: Fault | undefined },
  ) => Promise<Plan>
  /** Calls back when a source that is away may be back: a camera was plugged in. Returns the function that unsubscribes. */
  readonly onReturn: (config: PipelineConfig, callback: () => void) => () => void
}

interface PlannerOptions {
  readonly allowFiles: boolean
  readonly cameras?: Pick<CameraMonitor, 'capabilities' | 'onChange'>
}

/** Plans launches for the cameras, encoders and permissions of this host. */
export const createPlanner = (options: PlannerOptions): Planner => ({
  check: async (config, settings) => {
    const launch =
      config.mode === 'advanced' ? await checkAdvanced(config, settings, options) : await checkSimple(config, settings, options)
    return { launch: showLaunch(launch), publishes: launch.publishes, codecs: launch.codecs }
  },
  plan: (config, settings, attempt) =>
    config.mode === 'advanced'
      ? Promise.resolve({ launch: advancedLaunch(config), klv: null })
      : planSimple(config, settings, { ...options, ...attempt, reencode: config.encoding !== null }),
  onReturn: (config, callback) => {
    const isCamera = config.mode === 'simple' && sourceScheme(config.source.uri) === 'v4l2'
    if (!isCamera || options.cameras === undefined) return () => {}
    return options.cameras.onChange(({ type }) => {
      if (type === 'camera_added') callback()
    })
  },
})

const planSimple = async (config: SimpleConfig, settings: Settings, context: ProbeContext): Promise<Plan> => {
  const facts = await probeSource(config.source, context)
  const codec = encodedCodec(config, facts)
  const encoder = codec === null ? null : await chooseEncoder(codec, settings.encoder.preference, runToEnd)
  return { launch: simpleLaunch(config, facts, encoder), klv: facts.klv }
}
