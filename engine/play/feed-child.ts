import type { Readable } from 'node:stream'
import { Fault } from '../faults/fault.ts'
import type { Child } from '../gst/child.ts'
import { ChildPipe } from '../ingest/child-pipe.ts'
import { type OpenSource, readSource } from '../ingest/read-source.ts'
import { TransportFeed } from '../ingest/transport-feed.ts'
import { unitFeed } from '../ingest/unit-feed.ts'
import type { MpegTsInput } from '../klv/mpegts-input.ts'
import type { RunContext } from './watchdog.ts'

interface Feeding {
  readonly source: OpenSource
  /** Takes the MPEG-TS of a source that sends it. */
  readonly transport: MpegTsInput | undefined
  /** Called with the fault that ended the source. */
  readonly onEnd: (fault: Fault) => void
}

/** Passes a response to the stdin of a child, as fast as that reads; its end is that of the child's input. Returns what closes the response. */
export const pipeToChild = ({ stdin }: Child, body: Readable, onError: (fault: Fault) => void): (() => Promise<void>) => {
  // The end of the child says more than the error of its pipe.
  stdin?.on('error', () => {})
  const onLost = (cause: unknown): void => onError(new Fault('unreachable', 'The connection to the source was lost.', { cause }))
  body.on('error', onLost)
  if (body.errored) onLost(body.errored)
  else if (stdin !== undefined) body.pipe(stdin)
  return async () => void body.destroy()
}

/** Reads a source into the stdin of a child; its KLV goes to the stream of the run. Returns what closes the source. */
export const feedChild = ({ stdin }: Child, run: RunContext, { source, transport, onEnd }: Feeding): (() => Promise<void>) => {
  const closed = new AbortController()
  const log = (line: string): void => run.logRing.add(run.number, 'engine', line)
  const sinks = () => {
    if (stdin === undefined) return []
    const pipe = new ChildPipe(stdin, () => log('the process reads too slowly: frames are dropped up to the next key frame'))
    if (transport === undefined) return [unitFeed(pipe), run.streams[1]]
    return [new TransportFeed(pipe, (bytes, arrival) => transport.demux(bytes, arrival))]
  }
  const ended = readSource(source, { sinks: sinks(), signal: closed.signal, log }).then((fault) => fault && onEnd(fault))
  return async () => {
    closed.abort()
    await ended
  }
}
