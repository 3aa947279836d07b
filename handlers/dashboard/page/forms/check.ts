import { ApiError, api, issuesOf } from '../api/api.ts'
import { withPlaceholders } from '../words/format.ts'
import { bodyOf, type Draft } from './draft.ts'

/** What the API says about a draft. */
export interface Verdict {
  /** What is wrong with each field, by its path in the body. */
  readonly issues: ReadonlyMap<string, string>
  /** What is wrong with the whole. */
  readonly message: string
  readonly launch: string
}

export const NO_VERDICT: Verdict = { issues: new Map(), message: '', launch: '' }

/** Paths that have a field of their own. */
const FIELDS =
  /^(id|source\.(uri|latency_ms)|encoding\.\w+|raw_pipeline|output\.uri|geolocation\.(latitude|longitude|altitude|heading)|push(\.\d\.uri)?)$/

export const verdictOf = (error: unknown): Verdict => {
  if (!(error instanceof ApiError)) throw error
  const issues = issuesOf(error)
  const isShownAtFields = issues.size > 0 && [...issues.keys()].every((path) => FIELDS.test(path))
  return { issues, message: isShownAtFields ? '' : error.message, launch: '' }
}

/** The `gst-launch-1.0` line of a draft, or an ApiError that says what is wrong with it; nothing is created. */
export const askAbout = async (draft: Draft, signal?: AbortSignal): Promise<string> => {
  const [uri, push, rawPipeline] = [draft.uri, draft.push, draft.rawPipeline].map(withPlaceholders) as [string, string, string]
  const body = bodyOf({ ...draft, uri, push, rawPipeline })
  const { launch } = await api.validatePipeline({ body, ...(signal !== undefined && { signal }) })
  return launch
}

/** What the API says about a draft. */
export const checkDraft = async (draft: Draft, signal: AbortSignal): Promise<Verdict> => {
  try {
    return { ...NO_VERDICT, launch: await askAbout(draft, signal) }
  } catch (error) {
    return verdictOf(error)
  }
}
