import * as v from 'valibot'
import { MASK } from '../redact.ts'
import { webhookUriSchema } from '../uri/uri-schemas.ts'
import { charactersOf, described, oneOf } from './primitives.ts'

/** Data of `pipeline_error`. */
export const pipelineErrorSchema = v.object({
  pipeline_id: v.string(),
  message: described(v.string(), 'What happened; without credentials'),
  code: described(v.string(), 'As in an error body'),
  cause: described(v.string(), 'Why, for people; without credentials'),
  reason: described(v.string(), 'Why, for programs: details.reason of a play that failed, or the reason of a failed screenshot'),
})

/** Data of `pipeline_not_found`. */
export const pipelineNotFoundSchema = v.object({ pipeline_id: v.string() })

/** The events that a receiver can ask for, by the names they have over Server-Sent Events. */
const WEBHOOK_EVENTS = [
  'pipeline_status',
  'pipeline_error',
  'pipeline_not_found',
  'camera_added',
  'camera_removed',
  'klv',
] as const satisfies readonly string[]
type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** KLV comes many times a second. */
const DEFAULT_WEBHOOK_EVENTS: readonly WebhookEvent[] = WEBHOOK_EVENTS.filter((event) => event !== 'klv')

const MAX_WEBHOOKS = 8
/** A shorter key could be guessed from a signature. */
const MIN_KEY_BYTES = 16
const PREFIX = 'whsec_'
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

const SECRET = `Key of the signatures: ${PREFIX} and at least ${MIN_KEY_BYTES} bytes as base64, or 24 to 200 characters whose UTF-8 bytes are the key. Answers show ***, which keeps it when sent back with the same url`

/** The bytes of a key; undefined when the text is none. */
export const webhookKeyOf = (secret: string): Uint8Array | undefined => {
  if (!secret.startsWith(PREFIX)) return new TextEncoder().encode(secret)
  const base64 = secret.slice(PREFIX.length)
  // A last group of one character is no whole byte.
  if (!BASE64.test(base64) || base64.replaceAll('=', '').length % 4 === 1) return undefined
  return Uint8Array.from(atob(base64.replaceAll('=', '')), (character) => character.charCodeAt(0))
}

const secretSchema = v.pipe(
  v.string('Use a string'),
  v.check((secret) => charactersOf(secret) <= 200, 'Use at most 200 characters'),
  v.check(
    (secret) => secret === MASK || secret.startsWith(PREFIX) || charactersOf(secret) >= 24,
    `Use at least 24 characters, or ${PREFIX} and base64`,
  ),
  v.check(
    (secret) => !secret.startsWith(PREFIX) || (webhookKeyOf(secret)?.length ?? 0) >= MIN_KEY_BYTES,
    `Use base64 of at least ${MIN_KEY_BYTES} bytes after ${PREFIX}, such as 32 random ones`,
  ),
  v.description(SECRET),
)

/** One receiver of events. */
const webhookSchema = v.strictObject({
  url: webhookUriSchema,
  secret: secretSchema,
  events: v.optional(
    v.pipe(
      v.array(oneOf(WEBHOOK_EVENTS)),
      v.minLength(1, 'Use at least one event, or leave events out for all but klv'),
      v.maxLength(WEBHOOK_EVENTS.length, `Use at most ${WEBHOOK_EVENTS.length} events`),
      v.description('The events it gets; by default all but klv'),
    ),
    [...DEFAULT_WEBHOOK_EVENTS],
  ),
})

export type Webhook = v.InferOutput<typeof webhookSchema>

/** `settings.webhooks`. */
export const webhooksSchema = described(
  v.pipe(v.array(webhookSchema), v.maxLength(MAX_WEBHOOKS, `Use at most ${MAX_WEBHOOKS} webhooks`)),
  'Receivers of events: each event is a signed POST, as Standard Webhooks describe it',
)
