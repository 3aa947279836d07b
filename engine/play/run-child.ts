import { redact } from '../../lib/redact.ts'
import { Fault, worthWaiting } from '../faults/fault.ts'
import { classifyEnd } from '../gst/bus-errors.ts'
import { type Child, type Ended, startChild } from '../gst/child.ts'
import { hideArguments } from '../gst/hide-arguments.ts'
import { onLine } from '../gst/on-line.ts'
import { stopAfterError, stopChild } from '../gst/stop-child.ts'
import { FloodGuard } from '../ingest/flood-guard.ts'
import { MediaPipe } from '../ingest/media-pipe.ts'
import type { OpenSource } from '../ingest/read-source.ts'
import { MpegTsInput } from '../klv/mpegts-input.ts'
import { sendSyntheticFlight } from '../klv/send-synthetic-flight.ts'
import { type Launch, type LaunchStream, OWN_KLV_CAPS } from '../launch/launch.ts'
import { isCarriedType } from '../launch/sound.ts'
import { notCarried } from '../mount/served-sound.ts'
import { parseRtpCaps } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'
import type { Body } from '../sources/source-kind.ts'
import { feedChild, pipeToChild } from './feed-child.ts'
import { SecondPayloader } from './second-payloader.ts'
import { openSound } from './sound-encoder.ts'
import { FOREIGN, SOUND_ALONE, transportEvents, videoChanged } from './transport-events.ts'
import { type MissingMedia, missingMediaFault, type RunContext, startWatchdog, type Watchdog } from './watchdog.ts'

/** Lines that `-v` prints for every property that changes; of no use in a log. */
const CHATTER = /^\/GstPipeline:/

/** The warning of tsdemux for each gap, with the lines that go with it. */
const GAP = /^WARNING: (?=.*GstTSDemux:).* CONTINUITY: /
const GAP_DETAILS = /^Additional debug info:$|tsdemux\.c\(\d+\): gst_ts_demux_queue_data /

/** A pad of sound of a demuxer. */
const SOUND_PAD = /:tracks\.Gst[A-Za-z]{0,16}Pad:([\w-]{1,64}): caps = audio\/([\w.+-]{1,40})/

/** Warnings of libsrt, such as one for each lost packet; only those are of use that say why a sender is refused. */
const SRT_CHATTER = /^(?!.*per enforced encryption).* srtlib /

/** Lines of a child that say why no video comes; $1 is what the line has there. */
const EXPLANATIONS: readonly (readonly [RegExp, string])[] = [
  [
    /^(?=.* srtlib ).*per enforced encryption/,
    'A sender was refused: its SRT passphrase is not the one in source.uri, or only one of the two has one. Correct it.',
  ],
  // The sound of FLV goes into a valve.
  [/^(?=.*Gst(?:Valve|FlvDemux):).* caps = audio\//, SOUND_ALONE],
  // A payloader drops what it cannot packetize, and goes on.
  [
    /^WARNING: from element \S+:pay0: (.{1,200})/,
    'The element pay0 does not take the video ($1). Let the description give it another format.',
  ],
]

const explanationOf = (line: string): string | undefined => {
  for (const [pattern, text] of EXPLANATIONS) {
    const match = pattern.exec(line)
    if (match !== null) return redact(text.replace('$1', () => match[1] ?? ''))
  }
  return undefined
}

/** One child, from its start until it is reaped. */
export interface Run extends RunContext {
  readonly launch: Launch
  /** The engine reads it for the child. */
  readonly source?: OpenSource
  /** The engine passes it on to the child. */
  readonly body?: Body
}

/** Why the engine stopped a child; recorded before the first signal, since a stopped child and one that ends by itself both exit 0. */
type StopReason = 'stop' | MissingMedia | Fault

/** Runs one child until it is reaped. Resolves to the fault that ended it, or undefined when the signal did. */
export const runChild = async (run: Run): Promise<Fault | undefined> => {
  const { launch, source, body, logRing, number, signal } = run
  const options = { mediaPipes: launch.streams.length, reach: launch.reach, input: source !== undefined || body !== undefined }
  const child = startChild('gst-launch-1.0', ['-v', ...launch.args], options)
  let reason: StopReason | undefined
  const stop = (why: StopReason): void => {
    if (reason !== undefined) return
    reason = why
    void stopChild(child)
  }
  const watchdog = startWatchdog(run, launch.publishes, stop)
  const onAbort = (): void => stop('stop')
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  void child.pid.then((pid) => {
    if (pid !== undefined) run.report({ type: 'started', pid })
  })
  if (launch.confidential) hideArguments(child, (line) => logRing.add(number, 'engine', line))

  stopAfterError(child)
  const transport = readTransport(run, stop)
  for (const [place, stream] of run.streams.entries()) stream.begin(launch.streams.find(({ payloader }) => PLACES[payloader] === place))
  const sound = openSound(run, launch.soundEncoding)
  const second = new SecondPayloader({ data: run.streams[1], sound: sound.sink })
  feedStreams(child, run, { transport, second, stop })
  const closeSource = source
    ? feedChild(child, run, { source, transport, onEnd: stop })
    : body && pipeToChild(child, run, { body, transport, onError: stop })
  let explanation: string | undefined
  const explain = (line: string): void => {
    explanation ??= explanationOf(line)
  }
  readStdout(child, run, { watchdog, explain })
  onLine(child.stderr, (line) => {
    explain(line)
    if (!SRT_CHATTER.test(line)) logRing.add(number, 'stderr', line)
  })
  try {
    const ended = await child.ended
    explanation ??= transport?.foreign && FOREIGN[transport.foreign]
    const fault = reason === 'no_media' && explanation !== undefined ? new Fault('timeout', explanation) : faultOf(reason, ended, run)
    if (fault === undefined) return undefined
    if (watchdog.hadMedia && fault.reason === 'unsupported') return videoChanged(fault)
    return watchdog.unsteady ? notWaitedFor(fault) : fault
  } finally {
    watchdog.close()
    signal.removeEventListener('abort', onAbort)
    await Promise.all([closeSource?.(), sound.close()])
  }
}

interface Feeds {
  readonly transport: MpegTsInput | undefined
  readonly second: SecondPayloader
  readonly stop: (why: Fault) => void
}

/** Feeds the media pipes, fd 3 and the next, into the streams. */
const feedStreams = (child: Child, run: Run, { transport, second, stop }: Feeds): void => {
  const { launch, logRing, number, streams } = run
  const guard = new FloodGuard(streams)
  void child.ended.then(() => {
    guard.close()
    for (const stream of streams) stream.end()
  })
  const ownKlv =
    launch.syntheticKlv || (launch.transport && !launch.streams.some(({ payloader }) => payloader === 'pay1'))
      ? parseRtpCaps(OWN_KLV_CAPS)
      : undefined
  if (ownKlv !== undefined) streams[1].setCaps(ownKlv)
  if (launch.syntheticKlv) void child.ended.then(sendSyntheticFlight(streams[0], streams[1]))
  for (const [position, described] of launch.streams.entries()) {
    const { payloader, caps, carries } = described
    const stream = streamOf(run, payloader)
    const target = carries === 'mpegts' ? transport : launch.advanced && payloader === 'pay1' ? second : stream
    const pipe = target && new MediaPipe(target)
    const known = caps === null ? undefined : parseRtpCaps(caps)
    if (known !== undefined) stream.setCaps(known)
    child.media[position]?.on('error', () => {})
    let over = false
    child.media[position]?.on('data', (chunk: Buffer) => {
      // Read until the child ends, since it may end no sooner; of no use any more.
      if (over) return
      try {
        pipe?.ingest(chunk)
        guard.check()
      } catch (error) {
        over = true
        if (error instanceof Fault) return stop(error)
        logRing.add(number, 'engine', `unreadable media from the child: ${error instanceof Error ? error.message : 'unknown'}`)
        stop(new Fault('crashed', 'The media engine wrote unreadable RTP.'))
      }
    })
  }
}

/** Reads the MPEG-TS that the child passes on, or the one that the engine pipes to it; undefined when there is none. */
const readTransport = (run: Run, stop: (why: Fault) => void): MpegTsInput | undefined =>
  run.launch.transport && new MpegTsInput(run.streams[1], transportEvents(run, { ...run.launch.transport, stop }))

/** Number of the stream of each payloader. */
const PLACES = { pay0: 0, pay1: 1, sound: 2 } as const satisfies Record<LaunchStream['payloader'], number>

const streamOf = ({ streams }: Run, payloader: LaunchStream['payloader']): RtpStream => streams[PLACES[payloader]]

interface Readings {
  readonly watchdog: Watchdog
  readonly explain: (line: string) => void
}

/** Logs the lines that are of use. */
const readStdout = (child: Child, run: Run, { watchdog, explain }: Readings): void => {
  const { launch, logRing, number, streams } = run
  let gaps = 0
  const noteSound = soundNoter(run)
  const isGap = gapFilter(() => {
    streams[0].noteGap()
    gaps += 1
    if (gaps === 1) logRing.add(number, 'engine', 'packets of the MPEG-TS are lost; the warnings of this are left out')
  })
  onLine(child.stdout, (line) => {
    explain(line)
    noteSound(line)
    if (!CHATTER.test(line) && !isGap(line)) logRing.add(number, 'stdout', line)
    if (!launch.publishes && line.startsWith('Setting pipeline to PLAYING')) watchdog.playing()
  })
}

/** Reports sound that cannot be carried as it is, and logs that there are several tracks. */
const soundNoter = ({ launch, logRing, number, report }: Run): ((line: string) => void) => {
  const pads = new Set<string>()
  return (line) => {
    const [, pad, type] = SOUND_PAD.exec(line) ?? []
    if (pad === undefined || type === undefined || pads.has(pad) || pads.size > 1) return
    pads.add(pad)
    if (pads.size > 1) logRing.add(number, 'engine', 'the source has several tracks of sound; the first that can be carried is used')
    else if (launch.copiesSound && !isCarriedType(`audio/${type}`))
      report({ type: 'sound', found: notCarried({ codec: type.replace('x-', ''), rate: null, channels: null }) })
  }
}

/** Whether a line belongs to the warnings of gaps, which would leave no room in the log for any other. Calls back at each gap. */
const gapFilter = (onGap: () => void): ((line: string) => boolean) => {
  let inGap = false
  return (line) => {
    const begins = GAP.test(line)
    inGap = begins || (inGap && GAP_DETAILS.test(line))
    if (begins) onGap()
    return inGap
  }
}

/** A start that was in PLAYING and failed is answered at once, also when the cause may pass. */
const notWaitedFor = (fault: Fault): Fault => (worthWaiting(fault) ? new Fault('crashed', fault.message, { cause: fault }) : fault)

const faultOf = (reason: StopReason | undefined, ended: Ended, run: Run): Fault | undefined => {
  if (reason === 'stop') return undefined
  if (reason instanceof Fault) return reason
  if (reason !== undefined) return missingMediaFault(reason, run)
  return classifyEnd(ended, run.logRing.stderrTail(run.number), run.launch.advanced)
}
