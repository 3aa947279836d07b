import type { Readable, Writable } from 'node:stream'
import { Fault } from '../faults/fault.ts'
import type { Child } from '../gst/child.ts'
import { ChildPipe } from '../ingest/child-pipe.ts'
import { type OpenSource, readSource } from '../ingest/read-source.ts'
import { TransportFeed } from '../ingest/transport-feed.ts'
import { unitFeed } from '../ingest/unit-feed.ts'
import type { MpegTsInput } from '../klv/mpegts-input.ts'
import type { Body } from '../sources/source-kind.ts'
import type { RunContext } from './watchdog.ts'

interface Feeding {
  readonly source: OpenSource
  /** Takes the MPEG-TS of a source that sends it. */
  readonly transport: MpegTsInput | undefined
  /** Called with the fault that ended the source. */
  readonly onEnd: (fault: Fault) => void
}

interface Piping {
  readonly body: Body
  readonly onError: (fault: Fault) => void
}

/** Passes a response to the stdin of a child; its end is that of the child's input. Returns what closes the response. */
export const pipeToChild = ({ stdin }: Child, run: RunContext, { body: { stream, caps }, onError }: Piping): (() => Promise<void>) => {
  const onLost = (cause: unknown): void => onError(new Fault('unreachable', 'The connection to the source was lost.', { cause }))
  stream.on('error', onLost)
  if (stream.errored) onLost(stream.errored)
  else if (stdin !== undefined && caps !== undefined) pipeTimed(stream, stdin, { caps, run })
  else if (stdin !== undefined) {
    // The end of the child says more than the error of its pipe.
    stdin.on('error', () => {})
    stream.pipe(stdin)
  }
  return async () => void stream.destroy()
}

const pipeTimed = (stream: Readable, stdin: Writable, { caps, run }: { readonly caps: string; readonly run: RunContext }): void => {
  const pipe = openPipe(stdin, run)
  const beganMs = performance.now()
  stream.on('data', (chunk: Buffer) => pipe.write([chunk], { ms: performance.now() - beganMs, caps: () => caps, entry: true }))
  stream.on('end', () => stdin.end())
}

const openPipe = (stdin: Writable, { logRing, number }: RunContext): ChildPipe =>
  new ChildPipe(stdin, () => logRing.add(number, 'engine', 'the process reads too slowly: frames are dropped up to the next key frame'))

/** Reads a source into the stdin of a child; its KLV goes to the stream of the run. Returns what closes the source. */
export const feedChild = ({ stdin }: Child, run: RunContext, { source, transport, onEnd }: Feeding): (() => Promise<void>) => {
  const closed = new AbortController()
  const log = (line: string): void => run.logRing.add(run.number, 'engine', line)
  const sinks = () => {
    if (stdin === undefined) return []
    const pipe = openPipe(stdin, run)
    if (transport === undefined) return [unitFeed(pipe), run.streams[1]]
    return [new TransportFeed(pipe, (bytes, arrival) => transport.demux(bytes, arrival))]
  }
  const ended = readSource(source, { sinks: sinks(), signal: closed.signal, log }).then((fault) => fault && onEnd(fault))
  return async () => {
    closed.abort()
    await ended
  }
}
