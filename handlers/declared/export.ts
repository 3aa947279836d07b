import { DEFAULT_SETTINGS } from '../../lib/schema/settings.ts'
import type { Client, Pipeline } from '../client/client.ts'
import { nested } from '../client/nested.ts'
import { changesBetween, configuredOf, withoutDefaults } from './configured.ts'

/** A declaration, without fields that have their defaults. */
interface Exported {
  readonly pipelines: readonly object[]
  readonly settings?: object
}

/** All pipelines but those of triggers, and the settings that differ from the defaults. Credentials are masked. */
export const exportDeclaration = async (client: Client, signal?: AbortSignal): Promise<Exported> => {
  const [pipelines, settings] = await Promise.all([client.listPipelines({ signal }), client.getSettings({ signal })])
  const changed = changesBetween(DEFAULT_SETTINGS, settings).map(({ field, to }) => [field, to] as const)
  return {
    pipelines: pipelines.filter(({ ephemeral }) => !ephemeral).map(declarationOf),
    ...(changed.length > 0 && { settings: nested(changed) }),
  }
}

const declarationOf = (pipeline: Pipeline): object => {
  const config = configuredOf(pipeline)
  const { geolocation: _, ...others } = config
  const declared = withoutDefaults(pipeline.klv_config.auto_extract_geolocation ? (others as typeof config) : config)
  const plays = pipeline.runtime.desired === 'playing'
  // By default, pipelines play unless they are on-demand.
  return { ...declared, ...(plays === pipeline.on_demand && { state: plays ? 'playing' : 'ready' }) }
}
