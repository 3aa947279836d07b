import { Fault, worthWaiting } from '../fault.ts'
import { classifyEnd } from '../gst/bus-errors.ts'
import { type Child, type Ended, startChild } from '../gst/child.ts'
import { onLine } from '../gst/on-line.ts'
import { stopChild } from '../gst/stop-child.ts'
import { MpegTsInput } from '../klv/mpegts-input.ts'
import { sendSyntheticFlight } from '../klv/send-synthetic-flight.ts'
import { type Launch, type LaunchStream, OWN_KLV_CAPS } from '../launch/launch.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import { parseRtpCaps } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'
import type { LogRing } from './log-ring.ts'
import type { MediaStats } from './media-stats.ts'

const STDERR_TAIL = 20

/** A pipeline without pay0 has no media that shows whether it works: it has started when it has been in PLAYING for this time. */
const STEADY_MS = 500

/** `-v` prints the caps of the payloader's pad as they are negotiated; a bin shows it as a ghost pad. */
const PAYLOADER_CAPS = /:pay([01])\.Gst(?:Ghost)?Pad:src: caps = (.+)$/

/** Lines that `-v` prints for every property that changes; of no use in a log. */
const CHATTER = /^\/GstPipeline:/

/** One child, from its start until it is reaped. */
export interface Run {
  readonly number: number
  readonly launch: Launch
  /** stream 0 = pay0, 1 = pay1 */
  readonly streams: readonly [RtpStream, RtpStream]
  readonly mediaStats: MediaStats
  readonly logRing: LogRing
  /** Stops the child. */
  readonly signal: AbortSignal
  /** How long the first media may take, milliseconds. */
  readonly startTimeoutMs: number
  /** How long media may pause, milliseconds; read at each check, since settings change. */
  readonly stallTimeoutMs: () => number
  readonly report: (event: RunEvent) => void
}

export type RunEvent =
  | { readonly type: 'started'; readonly pid: number }
  /** The first key frame came or, of a pipeline without pay0, the child has been in PLAYING for half a second. */
  | { readonly type: 'media' }
  /** The source announces a KLV track; its packets may come later. */
  | { readonly type: 'klv' }

/** Why the engine stopped a child; recorded before the first signal, since a stopped child and one that ends by itself both exit 0. */
type StopReason = 'stop' | 'no_media' | 'stalled' | 'broken_media'

/** Runs one child until it is reaped. Resolves to the fault that ended it, or undefined when the signal did. */
export const runChild = async (run: Run): Promise<Fault | undefined> => {
  const { launch, logRing, number, signal } = run
  const child = startChild('gst-launch-1.0', ['-v', ...launch.args], { mediaPipes: launch.streams.length, reach: launch.reach })
  let reason: StopReason | undefined
  const stop = (why: StopReason): void => {
    if (reason !== undefined) return
    reason = why
    void stopChild(child)
  }
  const watchdog = startWatchdog(run, stop)
  const onAbort = (): void => stop('stop')
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  void child.pid.then((pid) => {
    if (pid !== undefined) run.report({ type: 'started', pid })
  })
  if (launch.confidential) hideArguments(child, run)

  listenToVideo(child, run, watchdog)
  feedStreams(child, run, () => stop('broken_media'))
  readStdout(child, run, watchdog)
  onLine(child.stderr, (line) => logRing.add(number, 'stderr', line))
  try {
    const ended = await child.ended
    const fault = faultOf(reason, ended, run)
    return fault !== undefined && watchdog.unsteady ? notWaitedFor(fault) : fault
  } finally {
    watchdog.close()
    signal.removeEventListener('abort', onAbort)
  }
}

/** gst-launch-1.0 has read its arguments when it prints its first line. */
const hideArguments = (child: Child, { logRing, number }: Run): void => {
  child.stdout.once('data', () => {
    void child.eraseArguments().then((erased) => {
      if (!erased) logRing.add(number, 'engine', 'the arguments of the process cannot be hidden here (kernel.yama.ptrace_scope)')
    })
  })
}

interface Watchdog {
  /** Media came; the first counts only when a decoder can begin with it. */
  media(key: boolean): void
  /** A child without RTP output is in PLAYING. */
  playing(): void
  /** The child has come to PLAYING, but has not been in it long enough. */
  readonly unsteady: boolean
  close(): void
}

/** Stops a child whose first media does not come within the start timeout, or whose media pauses for longer than the stall timeout. */
const startWatchdog = (run: Run, stop: (why: StopReason) => void): Watchdog => {
  let hadMedia = false
  let steadyTimer: NodeJS.Timeout | undefined
  let timer = setTimeout(() => stop('no_media'), run.startTimeoutMs)
  const check = (): void => {
    const pause = performance.now() - (run.mediaStats.lastFrameAt ?? 0)
    const left = run.stallTimeoutMs() - pause
    if (left <= 0) stop('stalled')
    else timer = setTimeout(check, Math.min(left + 1, 1000))
  }
  const begin = (): void => {
    hadMedia = true
    clearTimeout(timer)
    // A pipeline without RTP output shows no progress that could stall.
    if (run.launch.publishes) timer = setTimeout(check, 1000)
    run.report({ type: 'media' })
  }
  return {
    media: (key) => {
      if (!hadMedia && key) begin()
    },
    playing: () => {
      clearTimeout(timer)
      steadyTimer ??= setTimeout(begin, STEADY_MS)
    },
    get unsteady() {
      return steadyTimer !== undefined && !hadMedia
    },
    close: () => {
      clearTimeout(timer)
      clearTimeout(steadyTimer)
    },
  }
}

/** The one listener on the video of a run: media stats and watchdog. */
const listenToVideo = (child: Child, { streams: [video], mediaStats }: Run, watchdog: Watchdog): void => {
  const unsubscribe = video.onUnit(({ bytes, key }: AccessUnit) => {
    mediaStats.record(bytes)
    watchdog.media(key)
  })
  void child.ended.then(unsubscribe)
}

/** Feeds the media pipes, fd 3 and fd 4, into the streams. */
const feedStreams = (child: Child, run: Run, onBroken: () => void): void => {
  const { launch, logRing, number, streams } = run
  void child.ended.then(() => {
    for (const stream of streams) stream.end()
  })
  for (const [index, stream] of streams.entries()) stream.begin(launch.streams.find(({ payloader }) => payloader === `pay${index}`))
  if (launch.syntheticKlv) void child.ended.then(startFlight(streams))
  for (const [position, described] of launch.streams.entries()) {
    const { payloader, caps } = described
    const stream = streams[payloader === 'pay0' ? 0 : 1]
    const ingest = ingestOf(described, stream, run)
    const known = caps === null ? undefined : parseRtpCaps(caps)
    if (known !== undefined) stream.setCaps(known)
    child.media[position]?.on('error', () => {})
    child.media[position]?.on('data', (chunk: Buffer) => {
      try {
        ingest(chunk)
      } catch (error) {
        logRing.add(number, 'engine', `unreadable media from the child: ${error instanceof Error ? error.message : 'unknown'}`)
        onBroken()
      }
    })
  }
}

const startFlight = ([video, klv]: Run['streams']): (() => void) => {
  const caps = parseRtpCaps(OWN_KLV_CAPS)
  if (caps !== undefined) klv.setCaps(caps)
  return sendSyntheticFlight(video, klv)
}

const ingestOf = ({ carries }: LaunchStream, stream: RtpStream, { report }: Run): ((chunk: Buffer) => void) => {
  if (carries !== 'mpegts') return (chunk) => stream.ingest(chunk)
  const input = new MpegTsInput(stream, () => report({ type: 'klv' }))
  return (chunk) => input.ingest(chunk)
}

/** Sets the caps that the child prints, and logs the lines that are of use. */
const readStdout = (child: Child, { launch, logRing, number, streams }: Run, watchdog: Watchdog): void =>
  onLine(child.stdout, (line) => {
    const [, index, text] = PAYLOADER_CAPS.exec(line) ?? []
    const caps = text === undefined ? undefined : parseRtpCaps(text)
    if (caps !== undefined) streams[index === '0' ? 0 : 1].setCaps(caps)
    if (!CHATTER.test(line)) logRing.add(number, 'stdout', line)
    if (!launch.publishes && line.startsWith('Setting pipeline to PLAYING')) watchdog.playing()
  })

/** A start that was in PLAYING and failed is answered at once, also when the cause may pass. */
const notWaitedFor = (fault: Fault): Fault => (worthWaiting(fault) ? new Fault('crashed', fault.message, { cause: fault }) : fault)

const faultOf = (reason: StopReason | undefined, ended: Ended, run: Run): Fault | undefined => {
  const seconds = (ms: number): number => Math.round(ms / 1000)
  if (reason === 'stop') return undefined
  if (reason === 'no_media') {
    return new Fault('timeout', `No video came within ${seconds(run.startTimeoutMs)} s. Check that the source sends video now.`)
  }
  if (reason === 'stalled') return new Fault('stalled', `The source stopped sending video for ${seconds(run.stallTimeoutMs())} s.`)
  if (reason === 'broken_media') return new Fault('crashed', 'The media engine wrote unreadable RTP.')
  return classifyEnd(ended, run.logRing.stderrTail(run.number, STDERR_TAIL))
}
