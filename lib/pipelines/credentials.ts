import { MASK, redact } from '../redact.ts'
import type { PipelineConfig } from '../schema/pipeline.ts'
import { validationError } from '../validate.ts'

/**
 * Answers show addresses with their credentials masked. A configuration that was read and is sent back
 * unchanged must keep the credentials it has, so a masked text that equals the mask of the stored one stands for it.
 */
export const restoreCredentials = (config: PipelineConfig, stored?: PipelineConfig): PipelineConfig => {
  if (config.mode === 'advanced') {
    const before = stored?.mode === 'advanced' ? stored.raw_pipeline : undefined
    return { ...config, raw_pipeline: restore(config.raw_pipeline, before, 'raw_pipeline') }
  }
  const before = stored?.mode === 'simple' ? stored.source.uri : undefined
  return { ...config, source: { ...config.source, uri: restore(config.source.uri, before, 'source.uri') } }
}

const restore = (text: string, stored: string | undefined, path: string): string => {
  if (stored !== undefined && text === redact(stored)) return stored
  if (isMasked(text)) throw validationError('pipeline', [{ path, message: `The credentials are masked (${MASK}). Give them again` }])
  return text
}

const MASKED = /:\/\/\*\*\*@|[=:]\s*["']?\*\*\*/

/** Whether the mask (`***`) stands where a credential belongs. */
const isMasked = (text: string): boolean => MASKED.test(text)
