import { isMasked, maskDescription, maskUri } from '../credentials/mask.ts'
import { MASK } from '../redact.ts'
import type { PipelineConfig, PushTarget } from '../schema/pipeline.ts'
import { validationError } from '../validate.ts'

/**
 * Answers mask the credentials in addresses. A client may read a configuration and send it back unchanged, so a masked text
 * that equals the masked form of the stored text is replaced by the stored text.
 */
export const restoreCredentials = (config: PipelineConfig, stored?: PipelineConfig): PipelineConfig => {
  const push = restorePush(config.push, stored?.push ?? [])
  if (config.mode === 'advanced') {
    const before = stored?.mode === 'advanced' ? stored.raw_pipeline : undefined
    return { ...config, push, raw_pipeline: restore(config.raw_pipeline, before, 'raw_pipeline', maskDescription) }
  }
  const before = stored?.mode === 'simple' ? stored.source.uri : undefined
  return { ...config, push, source: { ...config.source, uri: restore(config.source.uri, before, 'source.uri', maskUri) } }
}

/** Entries may have been moved, added or removed: each is matched by its masked form, first at the same index. */
const restorePush = (push: readonly PushTarget[], stored: readonly PushTarget[]): readonly PushTarget[] => {
  const left = new Set(stored)
  const take = (uri: string, candidates: readonly (PushTarget | undefined)[]): string | undefined => {
    const found = candidates.find((target) => target !== undefined && left.has(target) && maskUri(target.uri) === uri)
    if (found !== undefined) left.delete(found)
    return found?.uri
  }
  const samePlace = push.map(({ uri }, at) => take(uri, [stored[at]]))
  return push.map(({ uri }, at) => ({ uri: restore(uri, samePlace[at] ?? take(uri, stored), `push.${at}.uri`, maskUri) }))
}

const restore = (text: string, stored: string | undefined, path: string, mask: (text: string) => string): string => {
  if (stored !== undefined && text === mask(stored)) return stored
  if (isMasked(text)) throw validationError('pipeline', [{ path, message: `The credentials are masked (${MASK}); send the real ones` }])
  return text
}
