import { maskDescription } from '../../lib/credentials/mask.ts'
import type { AdvancedConfig } from '../../lib/schema/pipeline.ts'
import { namedPayloaders, singleSpaced } from '../gst/description.ts'
import { chain, toArguments } from '../gst/element.ts'
import { advancedReach } from './advanced-reach.ts'
import { type Launch, padOf } from './launch.ts'
import { mediaSink } from './media-sink.ts'

const PAYLOADER_FD = { pay0: 3, pay1: 4 } as const

/** The launch line of an advanced pipeline: its description, token for token as it was written, and a branch to the engine for each payloader. */
export const advancedLaunch = (config: Pick<AdvancedConfig, 'raw_pipeline'>, fileFolder?: string): Launch => {
  const named = namedPayloaders(config.raw_pipeline)
  const publishes = named.includes('pay0')
  const payloaders = publishes ? named : []
  // As with gst-rtsp-server, a description whose source is not live runs at the speed of its timestamps.
  const branches = payloaders.flatMap((name) => chain(padOf(name), mediaSink(PAYLOADER_FD[name], true)))
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
