import { redact } from '../../lib/redact.ts'
import type { AdvancedConfig, Codec } from '../../lib/schema/pipeline.ts'
import type { Settings } from '../../lib/schema/settings.ts'
import { validationError } from '../../lib/validate.ts'
import { gstreamerMissing } from '../gst/bus-errors.ts'
import { type Finished, runToEnd } from '../gst/child.ts'
import { namedPayloaders, type Token, tokenize } from '../gst/description.ts'
import { chain, element, type LaunchTokens, toArguments } from '../gst/element.ts'
import { codecOfEncoder } from '../gst/encoder-table.ts'
import { missingElement } from '../gst/missing-element.ts'
import { type CheckedLaunch, type Launch, maskDescription, padOf } from './launch.ts'

// Like gst-rtsp-server: a description whose source is not live runs at its own speed. Without the usual processing deadline
// of 20 ms, a live one is delayed only by the latency that its own elements declare.
const clockedSink = (fd: number): LaunchTokens => element('fdsink', { fd, sync: true, async: false, 'processing-deadline': 0 })

const PAYLOADER_FD = { pay0: 3, pay1: 4 } as const

/** The launch line of an advanced pipeline: its description as it was written, and a branch to the engine for each payloader. */
export const advancedLaunch = (config: Pick<AdvancedConfig, 'raw_pipeline'>): Launch => {
  const named = namedPayloaders(config.raw_pipeline)
  const publishes = named.includes('pay0')
  const payloaders = publishes ? named : []
  const branches = payloaders.flatMap((name) => chain(padOf(name), element('rtpstreampay'), clockedSink(PAYLOADER_FD[name])))
  return {
    args: ['--', ...toArguments([config.raw_pipeline, ...branches])],
    streams: payloaders.map((payloader) => ({ payloader, fd: PAYLOADER_FD[payloader], caps: null })),
    publishes,
    shown: [maskDescription(config.raw_pipeline), ...branches],
  }
}

const CHECK_MS = 10_000

const refuse = (message: string, engine?: string): Error =>
  validationError('pipeline', [{ path: 'raw_pipeline', message }], engine === undefined ? {} : { engine })

/**
 * Dry run of an advanced pipeline. Throws VALIDATION_ERROR with `details.issues` and, when GStreamer rejects the description,
 * its message in `details.engine`; Fault missing_element or engine_missing with what to install.
 */
export const checkAdvanced = async (
  config: Pick<AdvancedConfig, 'raw_pipeline'>,
  settings: Settings,
  options: { readonly allowFiles: boolean },
): Promise<CheckedLaunch> => {
  if (!settings.advanced.enabled) throw refuse('Advanced pipelines are switched off in the settings (advanced.enabled)')
  const description = config.raw_pipeline
  if (/\0/.test(description)) throw refuse('A NUL character cannot be part of a description')
  if (description.includes(CHECK)) throw refuse(`There is no element ${CHECK}`)
  const denied = new Set(settings.advanced.denied_elements.map((name) => name.toLowerCase()))
  const tokens = tokenize(description)
  refuseUnfinished(tokens)
  refuseTokens(tokens, denied, options.allowFiles)
  // First without the appended branches: an open quote or a link without an end would include them.
  const created = createdBy(await dryRun([...toArguments([description]), CHECK]))
  refuseCreated(created, denied)
  if (namedPayloaders(description).includes('pay1') && !namedPayloaders(description).includes('pay0')) {
    throw refuse('A description that names pay1 must name pay0 too')
  }
  const launch = advancedLaunch(config)
  if (launch.publishes) refuseCreated(createdBy(await dryRun([...launch.args.slice(1), CHECK])), withoutFdsink(denied))
  await refuseSchemes(tokens, denied, options.allowFiles)
  return { ...launch, codecs: codecsOf(created) }
}

// An element that does not exist ends gst-launch after parsing: when that is the only complaint, the description is valid.
const CHECK = '__check__'
const COMPLAINT = /^(?:WARNING: erroneous pipeline|ERROR: pipeline could not be constructed): (.*)$/m
/** GStreamer may quote the whole description in its message. */
const MAX_COMPLAINT_LENGTH = 500
const NO_ELEMENT = /^no element "([^"]+)"$/
const CREATED = /creating element "([^"]+)"/g

const dryRun = async (args: readonly string[]): Promise<Finished> => {
  const options = ['--gst-debug-no-color', '--gst-debug=GST_ELEMENT_FACTORY:4', '--']
  const result = await runToEnd('gst-launch-1.0', [...options, ...args], { timeoutMs: CHECK_MS, maxOutputBytes: 8 * 1024 * 1024 })
  if (result.missing) throw gstreamerMissing()
  if (result.timedOut) throw refuse('The engine did not finish reading the description')
  const complaint = COMPLAINT.exec(result.stderr)?.[1] ?? ''
  if (complaint === `no element "${CHECK}"`) return result
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

/** Checks what GStreamer created, so that no quoting and no property that holds a description hides an element. */
const refuseCreated = (created: readonly string[], denied: ReadonlySet<string>): void => {
  for (const name of created) if (denied.has(name.toLowerCase())) throw refuse(notAllowed(name))
}

/** The names of the elements that GStreamer created in a dry run, those inside of bins too. */
const createdBy = ({ stderr }: Finished): readonly string[] => [...stderr.matchAll(CREATED)].map(([, name = '']) => name)

const codecsOf = (created: readonly string[]): readonly Codec[] => [...new Set(created.flatMap((name) => codecOfEncoder(name) ?? []))]

const notAllowed = (name: string): string => `The element ${name} is not allowed here (settings: advanced.denied_elements)`

/** The appended branches end in fdsink. */
const withoutFdsink = (denied: ReadonlySet<string>): ReadonlySet<string> => {
  const others = new Set(denied)
  others.delete('fdsink')
  return others
}

// Properties of allowed elements that name a file to read or write (location of an overlay, multipass-cache-file of x264enc, …).
const FILE_PROPERTY =
  /^(?:location|filename|file-name|temp-template|temp-location|cache-location|.*-file|.*-location|.*-directory|.*-path)$/
const URI = /^\s*([a-z][a-z0-9+.-]*):/i
const NETWORK_SCHEME = /^(?:rtsp[a-z]*|rtmp[a-z]*|https?|udp|tcp|srt|rist|rtp|icyx?|ws|wss|whip|whep)$/i

const refuseTokens = (tokens: readonly Token[], denied: ReadonlySet<string>, allowFiles: boolean): void => {
  for (const token of tokens) {
    if (token.kind === 'element' && denied.has(token.text.toLowerCase())) throw refuse(notAllowed(token.text))
    if (token.kind === 'assignment' && !allowFiles) refuseFile(token.name, token.value)
    if (token.kind === 'url' && !allowFiles && !/^[a-z][a-z0-9+.-]*:\/\//i.test(token.url)) throw refuse('Files are not allowed here')
  }
}

const refuseFile = (name: string, value: string): void => {
  const property = name.split('::').at(-1)?.replaceAll('_', '-') ?? ''
  const scheme = URI.exec(value)?.[1] ?? ''
  if (FILE_PROPERTY.test(property) && value !== '' && !NETWORK_SCHEME.test(scheme)) {
    throw refuse(`The property ${property} names a file, which is not allowed here`)
  }
  // ALSA's own file and tee devices write files, and run programs.
  if (property === 'device' && !/^\/dev\/[\w./-]+$/.test(value) && /^(?:file|tee)\b|[/|{}'"]/i.test(value)) {
    throw refuse('The property device names more than a device')
  }
  // x264 and x265 write files for options such as stats, csv and dump-yuv.
  if (
    property === 'option-string' &&
    /(?:^|:)\s*(?:stats|csv|dump-yuv|qpfile|recon|tcfile\S*|analysis-\S*|scaling-list|cqmfile|zonefile|lambda-file|dhdr10-info)\s*=/i.test(
      value,
    )
  ) {
    throw refuse('The option-string names a file, which is not allowed here')
  }
}

/** URI scheme → elements that open it. */
type Handlers = ReadonlyMap<string, readonly string[]>

let handlers: Promise<Handlers> | undefined

/** gst-inspect-1.0 -u: `filesrc (read, rank 256): file`. */
const readHandlers = async (): Promise<Handlers> => {
  const { stdout } = await runToEnd('gst-inspect-1.0', ['-u'], { timeoutMs: CHECK_MS })
  const found = new Map<string, string[]>()
  for (const [, element = '', schemes = ''] of stdout.matchAll(/^(\S+) \([^)]*\): (.+)$/gm)) {
    for (const scheme of schemes.split(',').map((text) => text.trim().toLowerCase())) {
      found.set(scheme, [...(found.get(scheme) ?? []), element])
    }
  }
  return found
}

/** Elements such as playbin choose the element that opens a URI by its scheme, and only after the dry run. */
const refuseSchemes = async (tokens: readonly Token[], denied: ReadonlySet<string>, allowFiles: boolean): Promise<void> => {
  const uris = tokens.flatMap((token) => (token.kind === 'assignment' ? [token.value] : token.kind === 'url' ? [token.url] : []))
  const schemes = new Set(
    uris.flatMap((uri) => [...uri.matchAll(/(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*):/gi)].map((match) => match[1]?.toLowerCase() ?? '')),
  )
  if (schemes.size === 0) return
  handlers ??= readHandlers()
  const known = await handlers.catch((error: unknown) => {
    handlers = undefined
    throw error
  })
  for (const scheme of schemes) {
    if (NETWORK_SCHEME.test(scheme) || (scheme === 'file' && allowFiles)) continue
    const opener = known.get(scheme)?.find((element) => denied.has(element.toLowerCase()) || LOCAL_OPENERS.has(element))
    if (opener !== undefined) throw refuse(`Addresses of the kind ${scheme}: are not allowed here`)
  }
}

/** Elements that open local files, or build elements from a text, by the scheme of a URI alone. */
const LOCAL_OPENERS: ReadonlySet<string> = new Set(['pushfilesrc', 'testsrcbin', 'sdpsrc', 'rsndvdbin', 'dvdreadsrc', 'gesdemux', 'gessrc'])
