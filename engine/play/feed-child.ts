import { type Readable, Transform, type Writable } from 'node:stream'
import { Fault } from '../faults/fault.ts'
import { piecesInTurns } from '../fetch/in-turns.ts'
import type { Child } from '../gst/child.ts'
import { ChildPipe } from '../ingest/child-pipe.ts'
import { type OpenSource, readSource } from '../ingest/read-source.ts'
import { TransportFeed } from '../ingest/transport-feed.ts'
import { unitFeed } from '../ingest/unit-feed.ts'
import type { MpegTsInput } from '../klv/mpegts-input.ts'
import { PlainKlv } from '../mpegts/plain-klv.ts'
import type { Body } from '../sources/source-kind.ts'
import { openSound } from './sound-encoder.ts'
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
  /** Takes the MPEG-TS of a body that is live. */
  readonly transport: MpegTsInput | undefined
  readonly onError: (fault: Fault) => void
}

/** The fault of a source whose stream ends with an error. */
export const lostConnection = (cause: unknown): Fault =>
  cause instanceof Fault ? cause : new Fault('unreachable', 'The connection to the source was lost.', { cause })

/** Passes a body to the stdin of a child; its end is that of the child's input. Returns what closes the body. */
export const pipeToChild = ({ stdin }: Child, run: RunContext, { body, transport, onError }: Piping): (() => Promise<void>) => {
  const { stream, caps } = body
  const onLost = (cause: unknown): void => onError(lostConnection(cause))
  stream.on('error', onLost)
  if (stream.errored) onLost(stream.errored)
  else if (stdin !== undefined && transport !== undefined && body.container?.format === 'mpegts' && body.container.pace === 'live')
    pipeTransport(stream, stdin, { transport, run, onError })
  else if (stdin !== undefined && caps !== undefined) pipeTimed(stream, stdin, { caps, run })
  else if (stdin !== undefined) {
    // The end of the child says more than the error of its pipe.
    stdin.on('error', () => {})
    if (body.container?.format === 'mpegts') stream.pipe(withPlainKlv(run)).pipe(stdin)
    else stream.pipe(stdin)
  }
  return async () => void stream.destroy()
}

/** Makes the KLV of a recording such that the demultiplexer of the child has it. */
const withPlainKlv = (run: RunContext): Transform => {
  const klv = new PlainKlv((synchronous) => run.report({ type: 'klv', available: true, synchronous }))
  return new Transform({ highWaterMark: 1, transform: (chunk: Buffer, _encoding, done) => done(null, klv.pass(chunk)) })
}

interface LiveTransport {
  readonly transport: MpegTsInput
  readonly run: RunContext
  readonly onError: (fault: Fault) => void
}

const pipeTransport = (stream: Readable, stdin: Writable, { transport, run, onError }: LiveTransport): void => {
  const feed = new TransportFeed(openPipe(stdin, run), (bytes, arrival) => transport.demux(bytes, arrival))
  const take = (chunk: Buffer): void => {
    try {
      feed.take(chunk)
    } catch (cause) {
      throw cause instanceof Fault ? cause : new Fault('source_error', 'The source cannot be read.', { cause })
    }
  }
  const read = async (): Promise<void> => {
    for await (const chunk of piecesInTurns(stream)) take(chunk)
    // After what was read last.
    setImmediate(() => stdin.end())
  }
  // Its own errors come as events.
  read().catch((error: unknown) => error instanceof Fault && onError(error))
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
  const sound = transport === undefined ? openSound(run, source.tracks.sound?.encoding) : undefined
  const sinks = () => {
    if (stdin === undefined) return []
    const pipe = openPipe(stdin, run)
    if (transport === undefined) return [unitFeed(pipe), run.streams[1], sound?.sink ?? run.streams[2]]
    return [new TransportFeed(pipe, (bytes, arrival) => transport.demux(bytes, arrival))]
  }
  const ended = readSource(source, { sinks: sinks(), signal: closed.signal, log }).then((fault) => fault && onEnd(fault))
  return async () => {
    closed.abort()
    await Promise.all([ended, sound?.close()])
  }
}
