import { Fault } from '../fault.ts'
import { classifyEnd } from '../gst/bus-errors.ts'
import { type Child, type Ended, startChild } from '../gst/child.ts'
import { onLine } from '../gst/on-line.ts'
import { MpegTsInput } from '../klv/mpegts-input.ts'
import { sendSyntheticFlight } from '../klv/send-synthetic-flight.ts'
import { type Launch, type LaunchStream, OWN_KLV_CAPS } from '../launch/launch.ts'
import { parseRtpCaps } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'
import type { LogRing } from './log-ring.ts'

/** How long a child may take to obey each signal of the stop ladder. */
const STOP_SIGNALS = [
  { signal: 'SIGINT', patienceMs: 2000 },
  { signal: 'SIGTERM', patienceMs: 2000 },
  { signal: 'SIGKILL', patienceMs: 5000 },
] as const

const STDERR_TAIL = 20

/** `-v` prints the caps of the payloader's pad as they are negotiated; a bin shows it as a ghost pad. */
const PAYLOADER_CAPS = /:pay([01])\.Gst(?:Ghost)?Pad:src: caps = (.+)$/

/** Lines that `-v` prints for every property that changes; of no use in a log. */
const CHATTER = /^\/GstPipeline:/

export interface RunOptions {
  readonly number: number
  readonly launch: Launch
  /** stream 0 = pay0, 1 = pay1 */
  readonly streams: readonly [RtpStream, RtpStream]
  readonly ring: LogRing
  /** Ends the run: a stop, a replaced engine. */
  readonly signal: AbortSignal
  /** How long the first media may take, milliseconds. */
  readonly startTimeoutMs: number
  /** How long media may pause, milliseconds; asked anew each time since settings change. */
  readonly stallTimeoutMs: () => number
  readonly onStarted: (pid: number) => void
  /** A key frame came out (or, of a pipeline without pay0, the child reported PLAYING). */
  readonly onMedia: () => void
  /** The source announces KLV that need not have come yet. */
  readonly onKlv?: () => void
}

/** Why the engine itself ended a run; recorded before the first signal, since a stop and a natural end both exit 0. */
type Reason = 'stop' | 'no_media' | 'stalled' | 'broken_media'

/** Runs one child to its end. Resolves, with the child reaped, to the fault that ended it, or undefined after an asked-for stop. */
export const runChild = async (options: RunOptions): Promise<Fault | undefined> => {
  const { launch, ring, number } = options
  const child = startChild('gst-launch-1.0', ['-v', ...launch.args], { mediaPipes: launch.streams.length })
  let reason: Reason | undefined
  const end = (why: Reason): void => {
    if (reason !== undefined) return
    reason = why
    void stopChild(child)
  }
  const watch = watchMedia(options, end)
  const onAbort = (): void => end('stop')
  options.signal.addEventListener('abort', onAbort)
  if (options.signal.aborted) onAbort()
  if (child.pid !== undefined) options.onStarted(child.pid)

  connectMedia(child, options, watch.media, () => end('broken_media'))
  onLine(child.stderr, (line) => ring.add(number, 'stderr', line))
  try {
    const ended = await child.ended
    return toFault(reason, ended, options)
  } finally {
    watch.close()
    options.signal.removeEventListener('abort', onAbort)
  }
}

/** SIGINT, then SIGTERM, then SIGKILL, each with its patience; returns when the child is reaped. */
const stopChild = async (child: Child): Promise<void> => {
  for (const { signal, patienceMs } of STOP_SIGNALS) {
    child.kill(signal)
    if (await endsWithin(child.ended, patienceMs)) return
  }
}

const endsWithin = async (ended: Promise<Ended>, patienceMs: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, patienceMs, false)
  })
  try {
    return await Promise.race([ended.then(() => true), patience])
  } finally {
    clearTimeout(timer)
  }
}

/** Liveness is media progress: the first media within the start timeout, then no pause longer than the stall timeout. */
const watchMedia = (options: RunOptions, end: (why: Reason) => void): { media(key: boolean): void; close(): void } => {
  let lastMedia: number | undefined
  let timer = setTimeout(() => end('no_media'), options.startTimeoutMs)
  const check = (): void => {
    const pause = performance.now() - (lastMedia ?? 0)
    const left = options.stallTimeoutMs() - pause
    if (left <= 0) end('stalled')
    else timer = setTimeout(check, Math.min(left + 1, 1000))
  }
  return {
    media(key) {
      if (lastMedia === undefined) {
        if (!key) return
        clearTimeout(timer)
        lastMedia = performance.now()
        // A pipeline without RTP output shows no progress that could stall.
        if (options.launch.publishes) timer = setTimeout(check, 1000)
        options.onMedia()
        return
      }
      lastMedia = performance.now()
    },
    close: () => clearTimeout(timer),
  }
}

/** Feeds fd 3 and fd 4 into the streams, and tells them the caps that the child prints. */
const connectMedia = (child: Child, options: RunOptions, onMedia: (key: boolean) => void, onBroken: () => void): void => {
  const { launch, ring, number, streams } = options
  const unsubscribe = streams[0].onUnit((unit) => onMedia(unit.key))
  void child.ended.then(() => {
    unsubscribe()
    for (const stream of streams) stream.end()
  })
  for (const stream of streams) stream.begin()
  if (launch.klvFlight) void child.ended.then(startFlight(streams))
  for (const [position, described] of launch.streams.entries()) {
    const { payloader, caps } = described
    const stream = streams[payloader === 'pay0' ? 0 : 1]
    const ingest = ingestOf(described, stream, options)
    const known = caps === null ? undefined : parseRtpCaps(caps)
    if (known !== undefined) stream.setCaps(known)
    child.media[position]?.on('error', () => {})
    child.media[position]?.on('data', (chunk: Buffer) => {
      try {
        ingest(chunk)
      } catch (error) {
        ring.add(number, 'engine', `unreadable media from the child: ${error instanceof Error ? error.message : 'unknown'}`)
        onBroken()
      }
    })
  }
  onLine(child.stdout, (line) => {
    const [, index, text] = PAYLOADER_CAPS.exec(line) ?? []
    const caps = text === undefined ? undefined : parseRtpCaps(text)
    if (caps !== undefined) streams[index === '0' ? 0 : 1].setCaps(caps)
    if (!CHATTER.test(line)) ring.add(number, 'stdout', line)
    if (!launch.publishes && line.startsWith('Setting pipeline to PLAYING')) onMedia(true)
  })
}

const startFlight = ([video, klv]: RunOptions['streams']): (() => void) => {
  const caps = parseRtpCaps(OWN_KLV_CAPS)
  if (caps !== undefined) klv.setCaps(caps)
  return sendSyntheticFlight(video, klv)
}

const ingestOf = ({ carries }: LaunchStream, stream: RtpStream, { onKlv }: RunOptions): ((chunk: Buffer) => void) => {
  if (carries !== 'transport') return (chunk) => stream.ingest(chunk)
  const transport = new MpegTsInput(stream, () => onKlv?.())
  return (chunk) => transport.ingest(chunk)
}

const toFault = (reason: Reason | undefined, ended: Ended, options: RunOptions): Fault | undefined => {
  if (reason === 'stop') return undefined
  const tail = options.ring.stderrTail(options.number, STDERR_TAIL)
  const seconds = (ms: number): number => Math.round(ms / 1000)
  if (reason === 'no_media') {
    return new Fault('timeout', `No video came within ${seconds(options.startTimeoutMs)} s. Check that the source sends video now.`)
  }
  if (reason === 'stalled') return new Fault('stalled', `The source stopped sending video for ${seconds(options.stallTimeoutMs())} s.`)
  if (reason === 'broken_media') return new Fault('crashed', 'The media engine wrote unreadable RTP.')
  return classifyEnd(ended, tail)
}
