import { DENIED_ELEMENTS, type EngineSettings } from '../../lib/schema/settings.ts'
import { validationError } from '../../lib/validate.ts'
import { gstreamerMissing } from '../gst/bus-errors.ts'
import { type Finished, runToEnd } from '../gst/child.ts'
import type { Token } from '../gst/description.ts'

/** Whether files may be read, or the folder in which they may. */
export type AllowFiles = boolean | string

/** Elements that read the files of a folder that the operator has given; the sandbox shows them no other file. */
const FOLDER_READERS: ReadonlySet<string> = new Set(['filesrc', 'multifilesrc', 'splitfilesrc', 'imagesequencesrc'])

/** VALIDATION_ERROR about a description; `engine`: the message of GStreamer; `reason`: why the settings refuse it. */
export const refuse = (message: string, details: { readonly engine?: string; readonly reason?: string } = {}): Error =>
  validationError('pipeline', [{ path: 'raw_pipeline', message }], details)

/** The message when GStreamer had no time, or no memory. */
export const UNFINISHED = 'The engine did not finish reading the description'

/** Throws when GStreamer is missing, did not start, or was killed: by the time limit, or by the kernel when memory runs out. */
export const requireEnd = ({ missing, timedOut, signal, refused }: Finished): void => {
  if (missing) throw gstreamerMissing()
  if (timedOut || signal === 'SIGKILL' || refused !== undefined) throw refuse(UNFINISHED, { engine: UNFINISHED })
}

/** What a description may not contain: the built-in list, and what the settings add to it, in lower case. */
export const deniedElements = (settings: EngineSettings, allowFiles: AllowFiles): ReadonlySet<string> => {
  const builtIn = typeof allowFiles === 'string' ? DENIED_ELEMENTS.filter((name) => !FOLDER_READERS.has(name)) : DENIED_ELEMENTS
  const added = settings.advanced.denied_elements.map((name) => name.toLowerCase()).filter((name) => !DENIED_ELEMENTS.includes(name))
  return new Set([...builtIn, ...added])
}

/** Refuses denied elements among those that GStreamer created, so that no quoting and no property that holds a description hides one. */
export const refuseCreated = (created: readonly string[], denied: ReadonlySet<string>): void => {
  for (const name of created) if (denied.has(name.toLowerCase())) throw notAllowed(name)
}

const notAllowed = (name: string): Error =>
  refuse(`The element ${name} is not allowed here (settings: advanced.denied_elements)`, { reason: 'denied_element' })

/** Refuses denied elements, and properties and addresses that name files, programs or elements. */
export const refuseTokens = (tokens: readonly Token[], denied: ReadonlySet<string>, allowFiles: AllowFiles): void => {
  for (const token of tokens) {
    if (token.kind === 'element' && denied.has(token.text.toLowerCase())) throw notAllowed(token.text)
    if (token.kind === 'url' && allowFiles === false && !/^[a-z][a-z0-9+.-]*:\/\//i.test(token.url))
      throw refuse('Files are not allowed here')
    if (token.kind === 'assignment') {
      const property = propertyOf(token.name)
      for (const value of readings(token.value)) refuseProperty(property, value, denied, allowFiles)
    }
  }
}

/** Of `child::property` the property; GObject reads an underscore as a dash. */
const propertyOf = (name: string): string => name.split('::').at(-1)?.replaceAll('_', '-') ?? ''

/** The value as a string, and as the strings inside a structure, which are deserialized once more. */
const readings = (value: string): readonly string[] => {
  const inner = value.replace(/\\(?:([0-3][0-7]{2})|(.))/gs, (_, octal?: string, character?: string) =>
    octal === undefined ? (character ?? '') : String.fromCharCode(Number.parseInt(octal, 8)),
  )
  return inner === value ? [value] : [value, inner]
}

/** Properties that name a library which the element loads. */
const LIBRARY = /^omx-lib|^crypto-engine$/
/** Properties whose value names an element, or is a description, from which an element is made while the pipeline runs. */
const MAKES_ELEMENTS = /(?:^|-)(?:factory|encoders?|decoders?|properties|description)$|^(?:colorspace|jpeg-decoder)-name$/
// Properties of allowed elements that name a file to read or write (location of an overlay, multipass-cache-file of x264enc, …).
const FILE =
  /(?:^|-)(?:location|filename|file-name|file|keyfile|directory|path|template)$|^(?:broken-input|recovery-input|fixed-output|soundfont|input-profile|dest-profile|ssh-knownhosts|ca-cert)$/
// Encoders in several passes write a log, and read it, also where no property names it.
const PASSES = /^(?:pass|multipass-mode)$/
const SINGLE_PASS = /^(?:cbr|quant|qual|[0245]|(?:one|single)-pass)$/i
const CODEC_OPTIONS = /(?:^|-)(?:options?|parameters)-string$/
// x264 and x265 write or read files for these options, and take an underscore for a dash.
const FILE_OPTION =
  /^(?:pass|stats|csv|dump-yuv|qpfile|recon|tcfile[\w-]*|analysis-[\w-]*|scaling-list|cqm(?:file)?|zonefile|lambda-file|dhdr10-info|opencl-clbin)$/i
/** The option before an equals sign. */
const namesFile = (options: string): boolean =>
  options
    .split('=')
    .slice(0, -1)
    .some((before) =>
      FILE_OPTION.test(
        before
          .trimEnd()
          .split(/[:,;\s]/)
          .at(-1) ?? '',
      ),
    )
const URI = /^\s*([a-z][a-z0-9+.-]*):/i
const NETWORK_SCHEME = /^(?:rtsp[a-z]*|rtmp[a-z]*|https?|udp|tcp|srt|rist|rtp|icyx?|ws|wss|whip|whep)$/i

const refuseProperty = (property: string, value: string, denied: ReadonlySet<string>, allowFiles: AllowFiles): void => {
  if (LIBRARY.test(property)) throw refuse(`The property ${property} names a library, which is not allowed here`)
  if (MAKES_ELEMENTS.test(property)) {
    for (const [word] of value.matchAll(/[\w-]+/g)) if (denied.has(word.toLowerCase())) throw notAllowed(word)
  }
  if (allowFiles !== false) return
  const scheme = URI.exec(value)?.[1] ?? ''
  if (FILE.test(property) && value !== '' && !NETWORK_SCHEME.test(scheme)) {
    throw refuse(`The property ${property} names a file, which is not allowed here`)
  }
  if (PASSES.test(property) && !SINGLE_PASS.test(value)) throw refuse(`The property ${property} needs a file, which is not allowed here`)
  // ALSA's own file and tee devices write files, and run programs; cdparanoiasrc reads what its generic-device names.
  const isNode = /^\/dev\/[\w./-]+$/.test(value) && !value.includes('..')
  if (/(?:^|-)device$/.test(property) && !isNode && /^(?:file|tee)\b|[/|{}'"]/i.test(value)) {
    throw refuse(`The property ${property} names more than a device`)
  }
  if (CODEC_OPTIONS.test(property) && namesFile(value.replaceAll('_', '-'))) {
    throw refuse(`The ${property} names a file, which is not allowed here`)
  }
}

/** Resolves to the elements that open each URI scheme. */
type SchemeOpeners = () => Promise<ReadonlyMap<string, readonly string[]>>

/** Reads the list of this host once; again after an error. */
export const createSchemeOpeners = (): SchemeOpeners => {
  let list: ReturnType<SchemeOpeners> | undefined
  return () => {
    list ??= readSchemeOpeners().catch((error: unknown) => {
      list = undefined
      throw error
    })
    return list
  }
}

const INSPECT_MS = 10_000

/** gst-inspect-1.0 -u: `filesrc (read, rank 256): file`. */
const readSchemeOpeners: SchemeOpeners = async () => {
  const result = await runToEnd('gst-inspect-1.0', ['-u'], { timeoutMs: INSPECT_MS, reach: {} })
  requireEnd(result)
  // Without the whole list a denied element would be missed.
  if (result.exitCode !== 0) throw refuse(UNFINISHED, { engine: UNFINISHED })
  const found = new Map<string, string[]>()
  for (const line of result.stdout.split('\n')) {
    const [, element = '', schemes = ''] = /^(\S+) \([^)]*\): (.+)$/.exec(line) ?? []
    for (const scheme of schemes
      .toLowerCase()
      .split(',')
      .map((text) => text.trim())) {
      if (scheme !== '') found.set(scheme, [...(found.get(scheme) ?? []), element])
    }
  }
  return found
}

/** Elements that open local files, or build elements from a text, by the scheme of a URI alone. */
const LOCAL_OPENERS: ReadonlySet<string> = new Set(['pushfilesrc', 'testsrcbin', 'sdpsrc', 'rsndvdbin', 'dvdreadsrc', 'gesdemux', 'gessrc'])

const SCHEME = /(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*):/gi

/** Refuses addresses that a denied element opens: elements such as playbin choose the opener by the scheme, and only after the dry run. */
export const refuseSchemes = async (
  tokens: readonly Token[],
  denied: ReadonlySet<string>,
  allowFiles: AllowFiles,
  openers: SchemeOpeners,
): Promise<void> => {
  const uris = tokens.flatMap((token) => (token.kind === 'assignment' ? readings(token.value) : token.kind === 'url' ? [token.url] : []))
  const schemes = new Set(uris.flatMap((uri) => [...uri.matchAll(SCHEME)].map((match) => match[1]?.toLowerCase() ?? '')))
  if (schemes.size === 0) return
  const known = await openers()
  for (const scheme of schemes) {
    if (NETWORK_SCHEME.test(scheme) || (scheme === 'file' && allowFiles !== false)) continue
    const opener = known.get(scheme)?.find((element) => denied.has(element.toLowerCase()) || LOCAL_OPENERS.has(element))
    if (opener !== undefined) throw refuse(`Addresses of the kind ${scheme}: are not allowed here`)
  }
}
