import { ApiError, api, issuesOf } from '../api/api.ts'
import { withPlaceholders } from '../words/format.ts'
import { bodyOf, type Draft } from './draft.ts'

/** The mistakes that the API finds in a draft. */
export interface Verdict {
  /** By the path of the field in the body. */
  readonly issues: ReadonlyMap<string, string>
  /** For mistakes without a field. */
  readonly message: string
}

export const NO_MISTAKES: Verdict = { issues: new Map(), message: '' }

/** Paths that have a field. */
const FIELDS =
  /^(id|source\.(uri|latency_ms)|encoding\.\w+|raw_pipeline|audio|audio_bitrate|output\.uri|geolocation\.(latitude|longitude|altitude|heading)|push(\.\d\.uri)?)$/

export const verdictOf = (error: unknown): Verdict => {
  if (!(error instanceof ApiError)) throw error
  const issues = issuesOf(error)
  const isShownAtFields = issues.size > 0 && [...issues.keys()].every((path) => FIELDS.test(path))
  return { issues, message: isShownAtFields ? '' : error.message }
}

/** Throws ApiError for a draft that is not valid; nothing is created. */
export const validateDraft = async (draft: Draft, signal?: AbortSignal): Promise<void> => {
  const [uri, push, rawPipeline] = [draft.uri, draft.push, draft.rawPipeline].map(withPlaceholders) as [string, string, string]
  const credentials = draft.keepsCredentials && draft.user === '' ? { user: 'user', password: 'placeholder' } : {}
  await api.validatePipeline({ body: bodyOf({ ...draft, ...credentials, uri, push, rawPipeline }), signal })
}

export const checkDraft = async (draft: Draft, signal: AbortSignal): Promise<Verdict> => {
  try {
    await validateDraft(draft, signal)
    return NO_MISTAKES
  } catch (error) {
    return verdictOf(error)
  }
}
