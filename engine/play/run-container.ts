import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { Fault } from '../faults/fault.ts'
import { piecesInTurns } from '../fetch/in-turns.ts'
import { OTHER_CODEC } from '../gst/bus-errors.ts'
import { TransportMedia } from '../ingest/demux/transport-media.ts'
import { paced } from '../ingest/demux/transport-pacer.ts'
import { FloodGuard } from '../ingest/flood-guard.ts'
import { FlvInput } from '../ingest/flv/flv-input.ts'
import { FlvError } from '../ingest/flv/flv-reader.ts'
import { readSource } from '../ingest/read-source.ts'
import { TransportFeed } from '../ingest/transport-feed.ts'
import { MpegTsInput } from '../klv/mpegts-input.ts'
import { OWN_KLV_CAPS } from '../launch/launch.ts'
import type { ContainerSource } from '../launch/plan.ts'
import { notCarried } from '../mount/served-sound.ts'
import { parseRtpCaps } from '../rtp/caps.ts'
import { sourceEnded } from '../rtsp/client/client-faults.ts'
import { lostConnection } from './feed-child.ts'
import { FOREIGN, SOUND_ALONE, transportEvents } from './transport-events.ts'
import { type MissingMedia, missingMediaFault, type RunContext, startWatchdog } from './watchdog.ts'

interface ContainerRun extends RunContext {
  readonly source: ContainerSource
  readonly sound: boolean
}

/** A source that is being read. */
interface Reading {
  /** Resolves to the fault that ended it; undefined when the signal did. */
  readonly ended: Promise<Fault | undefined>
  /** Why no video came of what came; undefined when nothing says it. */
  readonly explanation: () => string | undefined
}

interface Ends {
  readonly guard: FloodGuard
  readonly signal: AbortSignal
  readonly stop: (why: Fault) => void
}

/** Reads MPEG-TS or FLV until it ends or is stopped. Resolves to the fault that ended it, or undefined when the signal did. */
export const runContainer = async (run: ContainerRun): Promise<Fault | undefined> => {
  const { source, streams, signal } = run
  const over = Promise.withResolvers<Fault | undefined>()
  let missing: MissingMedia | undefined
  const watchdog = startWatchdog(run, true, (why) => {
    missing = why
    over.resolve(undefined)
  })
  const onAbort = (): void => over.resolve(undefined)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  const [video, klv, sound] = streams
  video.begin({ foreign: true })
  klv.begin()
  // Until its caps are known, or that it has none.
  if (run.sound) sound.begin({ caps: null })
  const guard = new FloodGuard(streams)
  const closed = new AbortController()
  const ends = { guard, signal: closed.signal, stop: over.resolve }
  const isFlv = 'stream' in source && source.container.format === 'flv'
  const { ended, explanation } = isFlv ? readFlv(run, source, ends) : readTransport(run, ends)
  void ended.then(over.resolve)
  try {
    const fault = await over.promise
    if (signal.aborted) return undefined
    const why = missing === 'no_media' ? explanation() : undefined
    if (why !== undefined) return new Fault('timeout', why)
    return missing === undefined ? fault : missingMediaFault(missing, run)
  } finally {
    watchdog.close()
    signal.removeEventListener('abort', onAbort)
    closed.abort()
    if ('stream' in source) source.stream.destroy()
    await ended
    guard.close()
    for (const stream of streams) stream.end()
  }
}

const logOf =
  ({ logRing, number }: RunContext) =>
  (line: string): void =>
    logRing.add(number, 'engine', line)

const reportSound = ({ report }: RunContext, codec: string): void =>
  report({ type: 'sound', found: notCarried({ codec, rate: null, channels: null }) })

const readTransport = (run: ContainerRun, { guard, signal, stop }: Ends): Reading => {
  const { source, streams } = run
  const klvCaps = parseRtpCaps(OWN_KLV_CAPS)
  if (klvCaps !== undefined) streams[1].setCaps(klvCaps)
  const input = openTransport(run, stop)
  const feed = new TransportFeed(undefined, (bytes, arrival) => {
    input.demux(bytes, arrival)
    guard.check()
  })
  const explanation = (): string | undefined => input.foreign && FOREIGN[input.foreign]
  if ('source' in source) return { ended: readSource(source.source, { sinks: [feed], signal, log: logOf(run) }), explanation }
  const { stream, container } = source
  const read = async (): Promise<void> => {
    if (container.pace === 'live') for await (const chunk of piecesInTurns(stream)) feed.take(chunk)
    // What is read late is not late: the clock of the source says when it was to come.
    else for await (const { bytes, dueMs } of paced(piecesInTurns(stream), signal)) feed.take(bytes, dueMs)
    input.end()
  }
  return { ended: untilEnd(read(), signal), explanation }
}

const openTransport = (run: ContainerRun, stop: (why: Fault) => void): MpegTsInput => {
  const { streams, source } = run
  const log = logOf(run)
  let gaps = 0
  const onGap = (): void => {
    gaps += 1
    if (gaps === 1) log('packets of the MPEG-TS are lost')
  }
  const onSound = (codecs: readonly string[], isCarried: boolean): void => {
    const [codec] = codecs
    if (codecs.length > 1) log('the source has several tracks of sound; the first that can be carried is used')
    if (codec !== undefined && !isCarried) reportSound(run, codec)
  }
  return new MpegTsInput(
    streams[1],
    transportEvents(run, { passesVideo: true, program: 'any', stop }),
    { reliable: 'stream' in source && source.reliable },
    (ticksOf) => new TransportMedia({ video: streams[0], sound: run.sound ? streams[2] : undefined, ticksOf, onGap, onSound }),
  )
}

/** A tag that is due later than this has another clock, milliseconds. */
const MAX_AHEAD_MS = 10_000

const readFlv = (
  run: ContainerRun,
  { stream, container }: Extract<ContainerSource, { readonly stream: Readable }>,
  { guard, signal, stop }: Ends,
): Reading => {
  const input = new FlvInput({
    video: run.streams[0],
    sound: run.sound ? run.streams[2] : undefined,
    onOtherCodec: () => stop(new Fault('unsupported', OTHER_CODEC)),
    onOtherSound: (codec) => reportSound(run, codec),
  })
  const read = async (): Promise<void> => {
    for await (const chunk of piecesInTurns(stream)) {
      for (const tag of input.read(chunk)) {
        const aheadMs = container.pace === 'live' ? 0 : input.aheadMs(tag, performance.now())
        if (aheadMs > 1 && aheadMs < MAX_AHEAD_MS) await wait(aheadMs, undefined, { signal })
        input.take(tag, performance.now())
        guard.check()
      }
    }
  }
  return { ended: untilEnd(read(), signal), explanation: () => (input.heard ? SOUND_ALONE : undefined) }
}

/** Resolves to the fault that ended the reading; undefined when the signal did. */
const untilEnd = (reading: Promise<void>, signal: AbortSignal): Promise<Fault | undefined> =>
  reading.then(
    () => sourceEnded('its server closed the connection'),
    (error: unknown) => {
      if (signal.aborted) return undefined
      return error instanceof FlvError ? new Fault('source_error', error.message) : lostConnection(error)
    },
  )
