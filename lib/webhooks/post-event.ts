import { Webhook as Signer } from 'standardwebhooks'
import { answerWithin } from '../answer-within.ts'
import { messageOf } from '../errors.ts'
import { redact } from '../redact.ts'
import { webhookKeyOf } from '../schema/event.ts'
import { withoutCredentials } from '../uri/without-credentials.ts'

/** For an answer, milliseconds. */
const ANSWER_WITHIN_MS = 10_000

/** Longer answers end their connection, bytes. */
const MAX_ANSWER_BYTES = 16_384

interface Message {
  readonly id: string
  readonly body: string
}

/** Delivers an event once. Answers why it was not taken, without credentials; undefined when it was. Never rejects. */
export type PostEvent = (message: Message, now: number, signal: AbortSignal) => Promise<string | undefined>

/** For a receiver: each event is a POST with the headers of Standard Webhooks 1.0.0 (section "Webhook headers"). */
export const createPostEvent = (
  { url, secret }: { readonly url: string; readonly secret: string },
  fetch: typeof globalThis.fetch = globalThis.fetch,
): PostEvent => {
  const { href, authorization } = withoutCredentials(url)
  const signer = new Signer(webhookKeyOf(secret) ?? '', { format: 'raw' })
  const headersOf = ({ id, body }: Message, now: number): Record<string, string> => ({
    'content-type': 'application/json',
    'user-agent': 'video-pipeline-service',
    ...(authorization !== undefined && { authorization }),
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / 1000)),
    'webhook-signature': signer.sign(id, new Date(now), body),
  })
  return async (message, now, signal) => {
    const post = async (end: AbortSignal): Promise<string | undefined> => {
      // A redirect could take the event elsewhere.
      const init = { method: 'POST', headers: headersOf(message, now), body: message.body, redirect: 'manual', signal: end } as const
      const response = await fetch(href, init)
      await discard(response)
      return response.ok ? undefined : refusal(response.status)
    }
    return answerWithin(ANSWER_WITHIN_MS, signal, post).catch(problemOf)
  }
}

/** A short answer leaves its connection for the next event; nothing uses what it says. */
const discard = async (response: Response): Promise<void> => {
  try {
    const length = response.headers.get('content-length')
    if (length !== null && Number(length) <= MAX_ANSWER_BYTES) await response.arrayBuffer()
    else await response.body?.cancel()
  } catch {
    // The answer has come; how its connection ends does not matter.
  }
}

const refusal = (status: number): string =>
  status >= 300 && status < 400 ? `it answers ${status}, a redirect; set the address it leads to` : `it answers ${status}`

/** The reason of a failed fetch is in its cause. */
const problemOf = (error: unknown): string =>
  redact(error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error)).slice(0, 200)
