import type { Readable } from 'node:stream'
import type { Encoding, Source } from '../../lib/schema/pipeline.ts'
import type { CameraMonitor } from '../cameras/monitor.ts'
import type { Address } from '../faults/address.ts'
import type { LaunchTokens } from '../gst/element.ts'
import type { Elements } from '../gst/elements.ts'
import type { Reach } from '../sandbox/sandbox.ts'

/** What the engine reads for a child, paused: the body of a response, or datagrams. */
export interface Body {
  readonly stream: Readable
  /** Live, it has the times of its arrival; recorded, it is read at the speed of its clock. */
  readonly container?: { readonly format: 'mpegts' | 'flv'; readonly pace: 'live' | 'recorded' }
  /** Of a stream that has no times of its own: its buffers get those of their arrival. */
  readonly caps?: string
}

/** What is known of a source before its data flows; a kind adds what its own launch line needs. */
export interface SourceFacts {
  /** RTP encoding name of the video in upper case (H264, H265, JPEG, VP8, MP2T …); null when it is known only from the data. */
  readonly video: string | null
  /** Whether there is a KLV track; null when it is known only from the data. */
  readonly klv: boolean | null
  /** Frames per second, null when unknown. */
  readonly frameRate: number | null
  /** A recording, which can be read faster than real time: the launch line paces it. */
  readonly paced: boolean
  /** Sound is wanted. */
  readonly sound?: boolean
  /** What the engine pipes to the child; the caller closes it. */
  readonly body?: Body
  /** The program of an MPEG-TS to be read; left out: the one whose map comes first. */
  readonly program?: number | undefined
}

export const UNKNOWN: SourceFacts = { video: null, klv: null, frameRate: null, paced: false }

/** A source with its address parsed. */
export interface ParsedSource extends Source {
  readonly address: Address
}

/** What sources need of this host. */
export interface SourceHost {
  /** Whether file sources are allowed, or the folder in which they are. */
  readonly allowFiles: boolean | string
  /** Undefined on a host without a camera monitor. */
  readonly cameras?: Pick<CameraMonitor, 'capabilities' | 'onChange'> | undefined
}

export interface DryRunContext extends SourceHost {
  /** Whether the video is re-encoded, so that a camera may send any format. */
  readonly reencode: boolean
}

export interface ProbeContext extends DryRunContext {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

export interface SourceLine {
  /** The elements up to the one named `tracks`, or up to the video of a source with a single track. */
  readonly tokens: LaunchTokens
  /** `tracks`: the pads are linked by caps; `video`: the last element's pad is the video. */
  readonly ends: 'tracks' | 'video'
  /** Caps of a track before any conversion. */
  readonly form: 'rtp' | 'parsed' | 'raw'
  /** The tracks are those of an MPEG-TS. With `tee` there is a tee named `transport`, for tracks that tsdemux ignores; the engine reads those of a piped source before. */
  readonly transport?: 'tee' | 'piped'
  /** What of the debug log of GStreamer the child prints, as GST_DEBUG has it. */
  readonly debug?: string
  /** For a line that reads what the engine pipes into it: elements that read the source in its place, to try it by hand. */
  readonly byHand?: LaunchTokens
  /** The pad of the sound, where the demuxer gives it this name. */
  readonly soundPad?: LaunchTokens
  /** A beep each second is to be generated. */
  readonly beeps?: true
  /** The engine generates the KLV. */
  readonly syntheticKlv?: true
}

/** All that differs from one kind of source to another. Each kind has a file, and each scheme a row in kinds.ts. */
export interface SourceKind<Facts extends SourceFacts = SourceFacts> {
  /** Elements that only this kind has in its launch lines; `doctor` checks them. */
  readonly elements: Elements
  /** The address may hold credentials. Also where it looks like none: a path or a query may be as secret as a password. */
  readonly confidential: boolean
  /** For raw pictures, where the configuration has no encoding. */
  readonly encoding?: Encoding
  /** What the source carries. Throws Fault: what is wrong with it and what to do. */
  probe(source: ParsedSource, context: ProbeContext): Promise<Facts>
  /** For a dry run: without contacting the source, the usual case. Throws Fault or VALIDATION_ERROR. */
  presume(source: ParsedSource, context: DryRunContext): Facts | Promise<Facts>
  /** The first elements of the launch line, by facts of this kind. Fault source_error when no element reads the source. */
  line(source: ParsedSource, facts: Facts): SourceLine
  /** What a child that reads the source may reach. What is left out is denied. */
  reach(source: ParsedSource, facts: Facts): Reach
  /** Calls back when a source that is away may be back; returns the function that unsubscribes. */
  onReturn?(host: SourceHost, callback: () => void): () => void
}

/** The data is multicast, or the source connects to the engine: it cannot be contacted before it is played. */
export const unprobed = <Facts extends SourceFacts>(
  facts: (source: ParsedSource) => Facts,
): Pick<SourceKind<Facts>, 'probe' | 'presume'> => ({ probe: async (source) => facts(source), presume: facts })

/** A silent source ends the child after this time at the latest; the stall watchdog of the settings is usually faster. */
export const SILENCE_SECONDS = 20

/** Names of the local network are resolved over a socket of the host. */
export const NETWORK: Reach = { network: true, localSockets: true }
