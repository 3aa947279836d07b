import { MASK, redact } from '../redact.ts'
import type { PipelineConfig } from '../schema/pipeline.ts'
import { maskDescription, maskUri } from './mask.ts'
import { type SecretSearch, secretSearch } from './secret-search.ts'

/** A long secret is also masked in pieces: a line that a program has cut may hold a part of it. */
const PIECE = 32
const MAX_PIECES = 256

/** Masks the credentials of one pipeline, in every form in which programs print them, and all that `redact` finds. */
export type MaskSecrets = (text: string) => string

/** For texts about a pipeline: output of its child, errors, launch lines. */
export const maskSecretsOf = (config: Pick<PipelineConfig, 'mode'> & SecretFields): MaskSecrets => {
  const secrets = new Set<string>()
  const found = (secret: string): void => {
    for (const form of decodedForms(secret)) for (const piece of pieces(form)) secrets.add(piece)
  }
  if (config.source !== undefined) maskUri(config.source.uri, found)
  for (const { uri } of config.push ?? []) maskUri(uri, found)
  if (config.raw_pipeline !== undefined) maskDescription(config.raw_pipeline, found)
  const known = [...secrets].filter((secret) => secret !== '' && secret !== MASK)
  if (known.length === 0) return redact
  const search = secretSearch(known)
  return (text) => redact(text.endsWith('…') ? `${maskFound(text.slice(0, -1), search)}…` : maskFound(text, search))
}

interface SecretFields {
  readonly source?: { readonly uri: string }
  readonly push?: readonly { readonly uri: string }[]
  readonly raw_pipeline?: string
}

/** The secret without percent-encoding, and without the quotes and backslashes of descriptions. */
const decodedForms = (secret: string): ReadonlySet<string> => {
  const plain = [secret, withoutEscapes(secret), withoutOctals(secret), withoutOctals(withoutEscapes(secret))]
  return new Set([...plain, ...plain.map(withoutPercents)].flatMap((form) => [form, form.replace(/^(["'])(.*)\1$/s, '$2')]))
}

const withoutEscapes = (text: string): string => text.replace(/\\(.)/gs, '$1')

/** `\146` is an f for gst_value_deserialize. */
const withoutOctals = (text: string): string =>
  text.replace(/(?:\\[0-3][0-7]{2})+/g, (octals) =>
    fromBytes(
      octals
        .slice(1)
        .split('\\')
        .map((octal) => Number.parseInt(octal, 8)),
    ),
  )

const withoutPercents = (text: string): string =>
  text.replace(/(?:%[0-9a-f]{2})+/gi, (percents) =>
    fromBytes(
      percents
        .slice(1)
        .split('%')
        .map((hex) => Number.parseInt(hex, 16)),
    ),
  )

const fromBytes = (bytes: readonly number[]): string => new TextDecoder().decode(Uint8Array.from(bytes))

/** A text of several lines is printed as several lines. */
const pieces = (secret: string): readonly string[] => {
  const lines = secret.split(/[\r\n]+/)
  const cut = lines
    .filter((line) => line.length > 2 * PIECE)
    .flatMap((line) =>
      Array.from({ length: Math.floor(line.length / PIECE) }, (_, index) => line.slice(index * PIECE, (index + 1) * PIECE)),
    )
  return [secret, ...lines, ...cut.slice(0, MAX_PIECES)]
}

const maskFound = (text: string, search: SecretSearch): string => {
  let masked = ''
  let at = 0
  for (const { start, end } of search(text)) {
    masked += text.slice(at, start) + MASK
    at = end
  }
  return masked + text.slice(at)
}
