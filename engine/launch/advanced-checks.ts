import { disguiseDescription } from '../../lib/credentials/mask.ts'
import { ApiError } from '../../lib/errors.ts'
import { redact } from '../../lib/redact.ts'
import type { AdvancedConfig, Codec } from '../../lib/schema/pipeline.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import { createSlots } from '../../lib/slots.ts'
import { Fault } from '../faults/fault.ts'
import { runToEnd } from '../gst/child.ts'
import { namedPayloaders, singleSpaced, type Token, tokenize } from '../gst/description.ts'
import { toArguments } from '../gst/element.ts'
import { codecOfEncoder } from '../gst/encoder-table.ts'
import { missingElement } from '../gst/missing-element.ts'
import { advancedLaunch } from './advanced.ts'
import {
  type AllowFiles,
  createSchemeOpeners,
  deniedElements,
  refuse,
  refuseCreated,
  refuseSchemes,
  refuseTokens,
  requireEnd,
  UNFINISHED,
} from './advanced-refusals.ts'
import type { CheckedLaunch } from './launch.ts'

export interface AdvancedChecks {
  /**
   * Dry run of an advanced pipeline; `reuse`: not where the description passed under the same settings. Throws VALIDATION_ERROR
   * with `details.issues` and, when GStreamer rejects the description, its message in `details.engine`; Fault missing_element or
   * engine_missing with what to install.
   */
  readonly check: (config: Description, settings: EngineSettings, options?: { readonly reuse?: boolean }) => Promise<CheckedLaunch>
  /** Throws VALIDATION_ERROR when the settings no longer allow the description; what GStreamer itself rejects, the run reports. */
  readonly checkStart: (config: Description, settings: EngineSettings, signal: AbortSignal) => Promise<void>
}

type Description = Pick<AdvancedConfig, 'raw_pipeline'>

/** Most descriptions whose check is remembered. */
const MAX_REMEMBERED = 1000
const BUSY = 'busy'

/** The checks of all advanced pipelines. */
export const createAdvancedChecks = ({ allowFiles }: { readonly allowFiles: AllowFiles }): AdvancedChecks => {
  const passed = new Map<string, { readonly settings: EngineSettings['advanced']; readonly codecs: readonly Codec[] }>()
  const openers = createSchemeOpeners()
  // Each is a process that loads plugins and parses for up to 10 s.
  const slots = createSlots({
    running: 4,
    waiting: 64,
    refusal: () =>
      new ApiError('SERVICE_UNAVAILABLE', 'Too many advanced pipelines are being checked. Try again in a moment.', { reason: BUSY }),
  })

  const findCodecs = async ({ raw_pipeline }: Description, settings: EngineSettings, signal?: AbortSignal): Promise<readonly Codec[]> => {
    passed.delete(raw_pipeline)
    refuseAtSight(raw_pipeline, settings)
    const denied = deniedElements(settings, allowFiles)
    const tokens = tokenize(raw_pipeline)
    refuseUnfinished(tokens)
    refuseTokens(tokens, denied, allowFiles)
    await refuseSchemes(tokens, denied, allowFiles, openers)
    const created = await slots.run(() => dryRun(raw_pipeline, signal))
    refuseCreated(created, denied)
    refuseLoneKlv(raw_pipeline)
    const codecs = codecsOf(created)
    passed.set(raw_pipeline, { settings: settings.advanced, codecs })
    dropOldest(passed)
    return codecs
  }
  const knownCodecs = ({ raw_pipeline }: Description, settings: EngineSettings): readonly Codec[] | undefined => {
    const earlier = passed.get(raw_pipeline)
    return earlier?.settings === settings.advanced ? earlier.codecs : undefined
  }

  return {
    check: async (config, settings, { reuse = false } = {}) => {
      const codecs = (reuse ? knownCodecs(config, settings) : undefined) ?? (await findCodecs(config, settings))
      return { ...advancedLaunch(config, typeof allowFiles === 'string' ? allowFiles : undefined), codecs }
    },
    checkStart: async (config, settings, signal) => {
      if (knownCodecs(config, settings) !== undefined) return
      try {
        await findCodecs(config, settings, signal)
      } catch (error) {
        const { engine, reason } = error instanceof ApiError ? error.details : {}
        // Not permanent: the host may have too much to do, for example while all pipelines start.
        if (engine === UNFINISHED || reason === BUSY) throw new Fault('timeout', `${UNFINISHED} in time.`, { cause: error })
        if (engine === undefined || signal.aborted) throw error
      }
    },
  }
}

const dropOldest = (remembered: Map<string, unknown>): void => {
  const [oldest] = remembered.keys()
  if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest)
}

// An element that does not exist ends gst-launch after parsing: when that is the only complaint, the description is valid.
const CHECK = '__check__'
const COMPLAINTS = ['WARNING: erroneous pipeline: ', 'ERROR: pipeline could not be constructed: ']
/** GStreamer may quote the whole description in its message. */
const MAX_COMPLAINT_LENGTH = 500
const CHECK_MS = 10_000
const NO_ELEMENT = /^no element "([^"]+)"$/
const CREATED = /creating element "([^"]+)"/g

/**
 * Parses a description without running it; resolves to the elements that GStreamer created for it. Without the branches of the
 * launch line: an open quote or a link without an end would include them.
 */
const dryRun = async (description: string, signal: AbortSignal | undefined): Promise<readonly string[]> => {
  const options = ['--gst-debug-no-color', '--gst-debug=GST_ELEMENT_FACTORY:4', '--']
  // The arguments of a process can be read by others of its user, and the credentials make no difference before the pipeline runs.
  const disguised = disguiseDescription(singleSpaced(description))
  const result = await runToEnd('gst-launch-1.0', [...options, ...toArguments([disguised]), CHECK], {
    timeoutMs: CHECK_MS,
    maxOutputBytes: 8 * 1024 * 1024,
    reach: {},
    ...(signal && { signal }),
  })
  requireEnd(result)
  const complaint = complaintIn(result.stderr)
  if (complaint === `no element "${CHECK}"`) return [...result.stderr.matchAll(CREATED)].map(([, name = '']) => name)
  const absent = await missingElement(NO_ELEMENT.exec(complaint)?.[1], runToEnd)
  if (absent !== undefined) throw absent
  // After an open bracket, or without any element, GStreamer complains about the element that the check appended.
  const reason = complaint.includes(CHECK) ? 'it is not complete' : redact(complaint.slice(0, MAX_COMPLAINT_LENGTH) || 'it cannot be read')
  throw refuse(`The engine rejects the description: ${reason}`, { engine: reason })
}

const complaintIn = (output: string): string => {
  for (const line of output.split('\n')) {
    const start = COMPLAINTS.find((text) => line.startsWith(text))
    if (start !== undefined) return line.slice(start.length)
  }
  return ''
}

const refuseAtSight = (description: string, settings: EngineSettings): void => {
  if (!settings.advanced.enabled) {
    throw refuse('Advanced pipelines are switched off in the settings (advanced.enabled)', { reason: 'advanced_disabled' })
  }
  if (/\0/.test(description)) throw refuse('A NUL character cannot be part of a description')
  if (description.includes(CHECK)) throw refuse(`There is no element ${CHECK}`)
}

const refuseLoneKlv = (description: string): void => {
  const payloaders = namedPayloaders(description)
  if (payloaders.includes('pay1') && !payloaders.includes('pay0')) throw refuse('A description that names pay1 must name pay0 too')
}

const LINKS: ReadonlySet<string> = new Set(['!', ':'])

/** A link at the end and an open quote are valid for GStreamer, but would include what is appended. */
const refuseUnfinished = (tokens: readonly Token[]): void => {
  const parts = tokens.filter(({ kind }) => kind !== 'space')
  const last = parts.at(-1)?.text ?? ''
  if (LINKS.has(last)) throw refuse(`The description ends with ${last}, but nothing follows`)
  for (const token of parts) {
    const raw = token.kind === 'assignment' ? token.text.replace(/^[^=]*=\s*/, '') : ''
    const [quote = ''] = raw
    if ((quote === '"' || quote === "'") && (raw.length < 2 || !raw.endsWith(quote))) throw refuse('A quote is opened and not closed')
  }
}

const codecsOf = (created: readonly string[]): readonly Codec[] => [...new Set(created.flatMap((name) => codecOfEncoder(name) ?? []))]
