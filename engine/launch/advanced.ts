import { maskDescription } from '../../lib/credentials/mask.ts'
import { ApiError } from '../../lib/errors.ts'
import { redact } from '../../lib/redact.ts'
import type { AdvancedConfig, Codec } from '../../lib/schema/pipeline.ts'
import type { Settings } from '../../lib/schema/settings.ts'
import { createSlots } from '../../lib/slots.ts'
import { Fault } from '../faults/fault.ts'
import { runToEnd } from '../gst/child.ts'
import { namedPayloaders, singleSpaced, type Token, tokenize } from '../gst/description.ts'
import { chain, element, type LaunchTokens, toArguments } from '../gst/element.ts'
import { codecOfEncoder } from '../gst/encoder-table.ts'
import { missingElement } from '../gst/missing-element.ts'
import { type AllowFiles, deniedElements, refuse, refuseCreated, refuseTokens, requireEnd, UNFINISHED } from './advanced-checks.ts'
import { type CheckedLaunch, type Launch, padOf } from './launch.ts'
import { advancedReach } from './reach.ts'

// Like gst-rtsp-server: a description whose source is not live runs at its own speed. Without the usual processing deadline
// of 20 ms, a live one is delayed only by the latency that its own elements declare.
const clockedSink = (fd: number): LaunchTokens => element('fdsink', { fd, sync: true, async: false, 'processing-deadline': 0 })

const PAYLOADER_FD = { pay0: 3, pay1: 4 } as const

/** The launch line of an advanced pipeline: its description, token for token as it was written, and a branch to the engine for each payloader. */
export const advancedLaunch = (config: Pick<AdvancedConfig, 'raw_pipeline'>, fileFolder?: string): Launch => {
  const named = namedPayloaders(config.raw_pipeline)
  const publishes = named.includes('pay0')
  const payloaders = publishes ? named : []
  const branches = payloaders.flatMap((name) => chain(padOf(name), element('rtpstreampay'), clockedSink(PAYLOADER_FD[name])))
  return {
    args: ['--', ...toArguments([singleSpaced(config.raw_pipeline), ...branches])],
    streams: payloaders.map((payloader) => ({ payloader, fd: PAYLOADER_FD[payloader], caps: null })),
    publishes,
    advanced: true,
    reach: advancedReach(config.raw_pipeline, fileFolder),
    confidential: true,
    shown: [maskDescription(config.raw_pipeline), ...branches],
  }
}

/**
 * Dry run of an advanced pipeline. Throws VALIDATION_ERROR with `details.issues` and, when GStreamer rejects the description,
 * its message in `details.engine`; Fault missing_element or engine_missing with what to install.
 */
export const checkAdvanced = async (
  config: Pick<AdvancedConfig, 'raw_pipeline'>,
  settings: Settings,
  options: { readonly allowFiles: AllowFiles; readonly signal?: AbortSignal },
): Promise<CheckedLaunch> => {
  if (!settings.advanced.enabled) throw refuse('Advanced pipelines are switched off in the settings (advanced.enabled)')
  const description = config.raw_pipeline
  if (/\0/.test(description)) throw refuse('A NUL character cannot be part of a description')
  if (description.includes(CHECK)) throw refuse(`There is no element ${CHECK}`)
  const denied = deniedElements(settings, options.allowFiles)
  const tokens = tokenize(description)
  refuseUnfinished(tokens)
  await refuseTokens(tokens, denied, options.allowFiles)
  // First without the appended branches: an open quote or a link without an end would include them.
  const created = await dryRun([...toArguments([singleSpaced(description)]), CHECK], options.signal)
  refuseCreated(created, denied)
  if (namedPayloaders(description).includes('pay1') && !namedPayloaders(description).includes('pay0')) {
    throw refuse('A description that names pay1 must name pay0 too')
  }
  const launch = advancedLaunch(config, typeof options.allowFiles === 'string' ? options.allowFiles : undefined)
  if (launch.publishes) refuseCreated(await dryRun([...launch.args.slice(1), CHECK], options.signal), withoutFdsink(denied))
  return { ...launch, codecs: codecsOf(created) }
}

/** Most descriptions whose check is remembered. */
const MAX_REMEMBERED = 1000

export interface AdvancedChecks {
  /** As checkAdvanced. */
  readonly check: (config: AdvancedConfig, settings: Settings) => Promise<CheckedLaunch>
  /** Throws VALIDATION_ERROR when the settings no longer allow the description; what GStreamer itself rejects, the run reports. */
  readonly checkStart: (config: AdvancedConfig, settings: Settings, signal: AbortSignal) => Promise<void>
}

/** The checks of all advanced pipelines. A start repeats the dry run only when the settings have changed since the last check. */
export const createAdvancedChecks = (options: { readonly allowFiles: AllowFiles }): AdvancedChecks => {
  const passed = new Map<string, Settings['advanced']>()
  const check = async (config: AdvancedConfig, settings: Settings, signal?: AbortSignal): Promise<CheckedLaunch> => {
    passed.delete(config.raw_pipeline)
    const launch = await checkAdvanced(config, settings, { ...options, ...(signal && { signal }) })
    passed.set(config.raw_pipeline, settings.advanced)
    const [oldest] = passed.keys()
    if (passed.size > MAX_REMEMBERED && oldest !== undefined) passed.delete(oldest)
    return launch
  }
  return {
    check,
    checkStart: async (config, settings, signal) => {
      if (passed.get(config.raw_pipeline) === settings.advanced) return
      try {
        await check(config, settings, signal)
      } catch (error) {
        const { engine, reason } = error instanceof ApiError ? error.details : {}
        // Not permanent: the host may have too much to do, for example while all pipelines start.
        if (engine === UNFINISHED || reason === BUSY) throw new Fault('timeout', `${UNFINISHED} in time.`, { cause: error })
        if (engine === undefined || signal.aborted) throw error
      }
    },
  }
}

// An element that does not exist ends gst-launch after parsing: when that is the only complaint, the description is valid.
const CHECK = '__check__'
const COMPLAINT = /^(?:WARNING: erroneous pipeline|ERROR: pipeline could not be constructed): (.*)$/m
/** GStreamer may quote the whole description in its message. */
const MAX_COMPLAINT_LENGTH = 500
const CHECK_MS = 10_000
const BUSY = 'busy'
const NO_ELEMENT = /^no element "([^"]+)"$/
const CREATED = /creating element "([^"]+)"/g

/** Dry runs of all clients: each is a process that loads plugins and parses for up to 10 s. */
const dryRuns = createSlots({
  running: 4,
  waiting: 64,
  refusal: () =>
    new ApiError('SERVICE_UNAVAILABLE', 'Too many advanced pipelines are being checked. Try again in a moment.', { reason: BUSY }),
})

/** Parses a description without running it; the elements that GStreamer created for it. */
const dryRun = async (args: readonly string[], signal: AbortSignal | undefined): Promise<readonly string[]> => {
  const options = ['--gst-debug-no-color', '--gst-debug=GST_ELEMENT_FACTORY:4', '--']
  const result = await dryRuns.run(() =>
    runToEnd('gst-launch-1.0', [...options, ...args], {
      timeoutMs: CHECK_MS,
      maxOutputBytes: 8 * 1024 * 1024,
      reach: {},
      ...(signal && { signal }),
    }),
  )
  requireEnd(result)
  const complaint = COMPLAINT.exec(result.stderr)?.[1] ?? ''
  if (complaint === `no element "${CHECK}"`) return [...result.stderr.matchAll(CREATED)].map(([, name = '']) => name)
  const absent = await missingElement(NO_ELEMENT.exec(complaint)?.[1], runToEnd)
  if (absent !== undefined) throw absent
  // After an open bracket, or without any element, GStreamer complains about the element that the check appended.
  const reason = complaint.includes(CHECK) ? 'it is not complete' : redact(complaint.slice(0, MAX_COMPLAINT_LENGTH) || 'it cannot be read')
  throw refuse(`The engine rejects the description: ${reason}`, reason)
}

/** A `!` at the end and an open quote are valid for GStreamer, but would include what is appended. */
const refuseUnfinished = (tokens: readonly Token[]): void => {
  const parts = tokens.filter(({ kind }) => kind !== 'space')
  if (parts.at(-1)?.text === '!') throw refuse('The description ends with !, but nothing follows')
  for (const token of parts) {
    const raw = token.kind === 'assignment' ? token.text.replace(/^[^=]*=\s*/, '') : ''
    const [quote = ''] = raw
    if ((quote === '"' || quote === "'") && (raw.length < 2 || !raw.endsWith(quote))) throw refuse('A quote is opened and not closed')
  }
}

const codecsOf = (created: readonly string[]): readonly Codec[] => [...new Set(created.flatMap((name) => codecOfEncoder(name) ?? []))]

/** The appended branches end in fdsink. */
const withoutFdsink = (denied: ReadonlySet<string>): ReadonlySet<string> => {
  const others = new Set(denied)
  others.delete('fdsink')
  return others
}
