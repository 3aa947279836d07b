import type { Writable } from 'node:stream'
import type { TsFeed, TsFeedOptions } from '../formats/ts-feed.ts'
import { type Child, startChild } from '../gst/child.ts'
import { gdpBuffers, gdpStart } from '../gst/gdp.ts'
import { hideArguments } from '../gst/hide-arguments.ts'
import { onLine } from '../gst/on-line.ts'
import { stopAfterError, stopChild } from '../gst/stop-child.ts'
import { CHECK_MS, CONNECT_SECONDS, type ConnectionEnd, type PushConnection, STALLED_SECONDS } from './connection.ts'
import { notTaken, pushFault, receiverStalled } from './faults.ts'
import type { PushLine } from './line.ts'

/** Begins to feed a child. */
export type OpenFeed = (out: Writable, options: TsFeedOptions) => TsFeed

interface ChildConnection extends PushConnection {
  readonly line: PushLine
  readonly openFeed: OpenFeed
}

const STDERR_TAIL = 20
/** After this many buffers those before have been taken: one is held by the sink, one by an element before it. */
const TAKEN_BUFFERS = 3

const FLV_CAPS = 'video/x-flv'

const PROGRESS = /^progress \([\d:]+\): (\d+)/

/** One child of a push, from its start until it is reaped. */
export const runChildConnection = async (connection: ChildConnection): Promise<ConnectionEnd> => {
  const { line, signal, log, onStart } = connection
  const child = startChild('gst-launch-1.0', line.args, { mediaPipes: 0, reach: line.reach, input: true })
  const tail: string[] = []
  let end: ConnectionEnd | undefined
  const stop = (why: ConnectionEnd): void => {
    if (end !== undefined) return
    end = why
    void stopChild(child)
  }
  const onAbort = (): void => stop('stopped')
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  hideArguments(child, (text) => log('engine', text))
  stopAfterError(child)
  onLine(child.stderr, (text) => {
    tail.push(text)
    if (tail.length > STDERR_TAIL) tail.shift()
    log('stderr', text)
  })
  const beganMs = performance.now()
  let sending = false
  followProgress(child, connection, () => {
    sending = true
    connection.onSending()
  })
  // The fault follows from the end of the child, not from the error of its pipe.
  child.stdin?.on('error', () => {})
  const feed = child.stdin && beginFeed(child.stdin, connection)
  if (feed !== undefined) onStart(feed, child.pid)
  const timer = setInterval(() => {
    const nowMs = performance.now()
    // What waits for the first receiver would be old when it comes.
    if (nowMs - (feed?.stuckSinceMs ?? nowMs) > STALLED_SECONDS * 1000) stop(line.listens ? 'renewed' : receiverStalled(STALLED_SECONDS))
    else if (!sending && !line.listens && nowMs - beganMs > CONNECT_SECONDS * 1000) stop(notTaken(CONNECT_SECONDS))
  }, CHECK_MS)
  try {
    const ended = await child.ended
    return end ?? pushFault(ended, tail, line)
  } finally {
    clearInterval(timer)
    feed?.close()
    signal.removeEventListener('abort', onAbort)
  }
}

const beginFeed = (stdin: Writable, { line: { catchUp, klv, sound, flv }, openFeed }: ChildConnection): TsFeed => {
  if (flv) stdin.write(gdpStart(FLV_CAPS))
  return openFeed(stdin, { catchUp, klv, sound, ...(flv && { flv: gdpBuffers }) })
}

const followProgress = (child: Child, { log }: PushConnection, onSending: () => void): void => {
  let sending = false
  onLine(child.stdout, (text) => {
    const buffers = PROGRESS.exec(text)?.[1]
    if (buffers === undefined) log('stdout', text)
    else if (!sending && Number(buffers) >= TAKEN_BUFFERS) {
      sending = true
      onSending()
    }
  })
}
