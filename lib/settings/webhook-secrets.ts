import { isMasked, maskUri } from '../credentials/mask.ts'
import { MASK } from '../redact.ts'
import type { Webhook } from '../schema/event.ts'
import type { PartialSettings } from '../schema/settings.ts'
import { validationError } from '../validate.ts'

/** A webhook as answers show it. */
export const maskWebhook = (webhook: Webhook): Webhook => ({ ...webhook, url: maskUri(webhook.url), secret: MASK })

/**
 * A client may send webhooks back as it has read them: each is matched with a stored one by its address without credentials, first with
 * the one at the same index. The mask then stands for what is stored.
 */
export const restoreWebhooks = (patch: PartialSettings, stored: PartialSettings): PartialSettings => {
  const { webhooks } = patch
  if (webhooks === undefined) return patch
  const left = new Set(stored.webhooks ?? [])
  const take = (url: string, candidates: readonly (Stored | undefined)[]): Stored | undefined => {
    const found = candidates.find((one) => one !== undefined && left.has(one) && maskUri(one.url) === maskUri(url))
    if (found !== undefined) left.delete(found)
    return found
  }
  const samePlace = webhooks.map(({ url }, at) => take(url, [stored.webhooks?.[at]]))
  return { ...patch, webhooks: webhooks.map((webhook, at) => restore(webhook, samePlace[at] ?? take(webhook.url, [...left]), at)) }
}

type Stored = NonNullable<PartialSettings['webhooks']>[number]

const restore = (webhook: Stored, stored: Stored | undefined, at: number): Stored => {
  if (stored === undefined && isMasked(webhook.url))
    throw issue(`webhooks.${at}.url`, `The credentials are masked (${MASK}), and no webhook has this address; send the real ones`)
  if (stored === undefined && webhook.secret === MASK)
    throw issue(`webhooks.${at}.secret`, `No secret is stored for this url that ${MASK} could stand for; send the real one`)
  if (stored === undefined) return webhook
  const url = isMasked(webhook.url) ? stored.url : webhook.url
  return { ...webhook, url, secret: webhook.secret === MASK ? stored.secret : webhook.secret }
}

const issue = (path: string, message: string) => validationError('settings record', [{ path, message }])
