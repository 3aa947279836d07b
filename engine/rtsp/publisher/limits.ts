/** Bounds of one publisher. Times are milliseconds. */
export interface PublisherLimits {
  readonly connections: number
  readonly connectionsPerAddress: number
  /** From the connection to its first complete request. */
  readonly firstRequestMs: number
  /** A connection without a session may be silent for this long. */
  readonly idleMs: number
  /** Announced in `Session: …;timeout=`; a session that shows no sign of life for longer ends. */
  readonly sessionTimeoutMs: number
  /** A reader that accepts nothing for this long is dropped. */
  readonly stalledMs: number
  /** Requests of one connection that may wait for their answer. */
  readonly pipelinedRequests: number
  /** Requests a second that one connection may keep up; ten times as many at once. */
  readonly requestsPerSecond: number
  /** Bytes of access units that may wait for one reader before it loses GOPs. */
  readonly queuedBytes: number
  /** A reader that is further behind than this when a key frame comes goes on from that one. */
  readonly lagMs: number
  /** Sessions over UDP: each has a pair of ports per stream. */
  readonly udpSessions: number
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
  queuedBytes: 8 * 1024 * 1024,
  lagMs: 2_000,
  udpSessions: 512,
  reportMs: 5_000,
}

/** What one connection may send: headers of a page, bodies that hold a few parameters. */
export const REQUEST_LIMITS = { lineBytes: 2048, headerCount: 48, headerBytes: 8 * 1024, bodyBytes: 16 * 1024 } as const
