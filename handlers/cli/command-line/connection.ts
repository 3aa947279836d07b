import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, createClient } from '../../client/client.ts'
import { createServiceClock } from '../../client/service-clock.ts'
import { type Given, UsageError } from './arguments.ts'

export interface Connection {
  readonly client: Client
  readonly url: URL
  /** Milliseconds since the epoch on the host of the service. */
  readonly now: () => number
}

type Environment = Readonly<Record<string, string | undefined>>

/** Connects to the service of the command line or the environment. */
export const connect = (given: Given, environment: Environment): Connection => {
  const url = addressOf(given, environment)
  const apiKey = keyOf(given, environment) ?? (isLocal(url) ? localKey(environment) : undefined)
  const { now, observe } = createServiceClock()
  const timedFetch = async (address: string, init: RequestInit): Promise<Response> => {
    const sentAt = Date.now()
    const answer = await fetch(address, init)
    observe(answer, sentAt)
    return answer
  }
  return { url, now, client: createClient({ url, apiKey, fetch: timedFetch }) }
}

const addressOf = (given: Given, { SVC_URL, SVC_PORT }: Environment): URL => {
  const text = given.text('url') ?? (SVC_URL || `http://127.0.0.1:${SVC_PORT || 8080}`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UsageError(`The URL ${text} is not valid. Use one such as http://127.0.0.1:8080.`)
  if (url.username !== '' || url.password !== '')
    throw new UsageError('Leave user name and password out of the URL. Use --api-key or SVC_API_KEY.')
  return url
}

const keyOf = (given: Given, { SVC_API_KEY }: Environment): string | undefined => {
  const text = given.text('api-key') ?? (SVC_API_KEY || undefined)
  if (text?.startsWith('@') !== true) return text
  const key = readKey(text.slice(1))
  if (key === undefined) throw new UsageError(`The key file ${text.slice(1)} cannot be read.`)
  return key
}

/** The key file of this host is only for a service on this host. */
const isLocal = ({ hostname }: URL): boolean => /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)

const localKey = ({ SVC_DATA_DIR }: Environment): string | undefined => readKey(join(SVC_DATA_DIR || './data', 'api-key'))

const readKey = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch {
    // Missing or not readable: the service answers UNAUTHORIZED if it needs a key.
    return undefined
  }
}
