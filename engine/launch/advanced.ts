import { maskDescription } from '../../lib/credentials/mask.ts'
import type { AdvancedConfig } from '../../lib/schema/pipeline.ts'
import { namedPayloaders, singleSpaced } from '../gst/description.ts'
import { chain, element, type LaunchTokens, toArguments } from '../gst/element.ts'
import { advancedReach } from './advanced-reach.ts'
import { type Launch, padOf } from './launch.ts'
import { framed } from './printed-caps.ts'

// Like gst-rtsp-server: a description whose source is not live runs at its own speed. Without the usual processing deadline
// of 20 ms, a live one is delayed only by the latency that its own elements declare.
const clockedSink = (fd: number): LaunchTokens => element('fdsink', { fd, sync: true, async: false, 'processing-deadline': 0 })

const PAYLOADER_FD = { pay0: 3, pay1: 4 } as const

/** The launch line of an advanced pipeline: its description, token for token as it was written, and a branch to the engine for each payloader. */
export const advancedLaunch = (config: Pick<AdvancedConfig, 'raw_pipeline'>, fileFolder?: string): Launch => {
  const named = namedPayloaders(config.raw_pipeline)
  const publishes = named.includes('pay0')
  const payloaders = publishes ? named : []
  const branches = payloaders.flatMap((name) => chain(padOf(name), framed(name), clockedSink(PAYLOADER_FD[name])))
  return {
    args: ['--', ...toArguments([singleSpaced(config.raw_pipeline), ...branches])],
    streams: payloaders.map((payloader) => ({ payloader, fd: PAYLOADER_FD[payloader], caps: null, sure: true })),
    publishes,
    advanced: true,
    reach: advancedReach(config.raw_pipeline, fileFolder),
    confidential: true,
    shown: [maskDescription(config.raw_pipeline), ...branches],
  }
}
