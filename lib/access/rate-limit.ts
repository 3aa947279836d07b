import { ApiError } from '../errors.ts'
import type { Clock } from '../ports.ts'
import { clientOf } from './client-of.ts'

/** At most `requests` within any window of `window_seconds`, per client address. */
export interface RateLimit {
  /** Routes that share a name share the count. */
  readonly name: string
  readonly requests: number
  readonly window_seconds: number
}

export interface RateLimiter {
  /** Counts a request; RATE_LIMITED with `details.retry_after_seconds` when it exceeds the limit (then it is not counted). */
  take(limit: RateLimit, clientAddress: string | undefined): void
}

/** Most clients remembered; beyond it the least recent is dropped. */
const MAX_CLIENTS = 10_000

/** A sliding window over the times of each client's last requests. */
export const createRateLimiter = (clock: Clock, maxClients = MAX_CLIENTS): RateLimiter => {
  // A Map keeps the order of insertion; a counted client moves to the end.
  const times = new Map<string, number[]>()
  return {
    take: (limit, clientAddress) => {
      const key = `${limit.name} ${clientOf(clientAddress)}`
      const now = clock.now()
      const windowMs = limit.window_seconds * 1000
      // A time in the future is from before the clock was set back.
      const recent = (times.get(key) ?? []).filter((time) => time <= now && now - time < windowMs)
      const oldest = recent[recent.length - limit.requests]
      if (oldest !== undefined) throw limited(Math.ceil((oldest + windowMs - now) / 1000))
      recent.push(now)
      times.delete(key)
      times.set(key, recent)
      if (times.size > maxClients) times.delete(times.keys().next().value ?? key)
    },
  }
}

const limited = (seconds: number): ApiError =>
  new ApiError('RATE_LIMITED', `Too many requests. Try again in ${seconds} s.`, { retry_after_seconds: seconds })
