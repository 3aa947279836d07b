import { sha256 } from '../access/digest.ts'
import { maskUri } from '../credentials/mask.ts'
import type { Webhook } from '../schema/event.ts'

/**
 * The webhooks by the names under which their events are stored: the same for the same address, whatever its credentials, its secret or
 * its place in the list. The second webhook of an address has another name than the first.
 */
export const receiverKeys = async (webhooks: readonly Webhook[]): Promise<ReadonlyMap<string, Webhook>> => {
  const keys = new Map<string, Webhook>()
  for (const webhook of webhooks) {
    const digest = (await sha256(maskUri(webhook.url))).slice(0, 22)
    const key = Array.from({ length: webhooks.length }, (_, at) => (at === 0 ? digest : `${digest}-${at}`)).find((one) => !keys.has(one))
    if (key !== undefined) keys.set(key, webhook)
  }
  return keys
}
