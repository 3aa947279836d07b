import type { Rate } from '../../lib/access/allowance.ts'

/** Limits of one publisher. Times are milliseconds. */
export interface PublisherLimits {
  readonly connections: number
  /** An address is an IPv4 address or an IPv6 /64, here and below. */
  readonly connectionsPerAddress: number
  /** From connecting to the first complete request. */
  readonly firstRequestMs: number
  /** A connection without a session may be silent for this long. */
  readonly idleMs: number
  /** Announced in `Session: …;timeout=`; a session without a request or RTCP report for longer ends. */
  readonly sessionTimeoutMs: number
  /** A reader that accepts nothing for this long is dropped. */
  readonly stalledMs: number
  /** Requests of one connection that may wait for a response. */
  readonly pipelinedRequests: number
  /** Sustained requests per second of one connection; a burst may be ten times as many. */
  readonly requestsPerSecond: number
  /** Bytes that one connection may send: requests and RTCP. A playing reader sends a few hundred per second. */
  readonly received: Rate
  /** The same for all connections of an address together; opening one counts as well. */
  readonly receivedPerAddress: Rate
  /** Bytes of access units that may wait for one slow reader before it loses GOPs. */
  readonly queuedBytes: number
  /** A slow reader that is further behind than this when a key frame arrives skips to that key frame. */
  readonly lagMs: number
  /** Sessions over UDP; each uses a pair of ports per stream. */
  readonly udpSessions: number
  readonly udpSessionsPerAddress: number
  /** The part of a mount's readers that may come from one address … */
  readonly shareOfReaders: number
  /** … if that is more than this many. */
  readonly readersPerAddress: number
  /** Requests with wrong credentials per minute and address; then its connections are closed. */
  readonly failuresPerMinute: number
  /** Time between two sender reports. */
  readonly reportMs: number
}

export const DEFAULT_LIMITS: PublisherLimits = {
  connections: 8192,
  connectionsPerAddress: 2048,
  firstRequestMs: 10_000,
  idleMs: 60_000,
  sessionTimeoutMs: 60_000,
  stalledMs: 10_000,
  pipelinedRequests: 16,
  requestsPerSecond: 20,
  received: { perSecond: 16 * 1024, burst: 64 * 1024 },
  receivedPerAddress: { perSecond: 1024 * 1024, burst: 4 * 1024 * 1024 },
  queuedBytes: 8 * 1024 * 1024,
  lagMs: 2_000,
  udpSessions: 512,
  udpSessionsPerAddress: 128,
  shareOfReaders: 0.5,
  readersPerAddress: 64,
  failuresPerMinute: 10,
  reportMs: 5_000,
}

/** Limits of one request: a page of headers, a body of a few parameters. */
export const REQUEST_LIMITS = { lineBytes: 2048, headerCount: 48, headerBytes: 8 * 1024, bodyBytes: 16 * 1024 } as const
