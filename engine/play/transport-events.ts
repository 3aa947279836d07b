import { Fault } from '../faults/fault.ts'
import { OTHER_CODEC } from '../gst/bus-errors.ts'
import { PASSED_TYPES } from '../ingest/demux/transport-media.ts'
import type { MpegTsEvents } from '../klv/mpegts-input.ts'
import { otherProgram } from '../launch/program.ts'
import type { RunContext } from './watchdog.ts'

/** Why no video comes of what came instead of MPEG-TS. */
export const FOREIGN = {
  rtp: 'The source sends RTP, not MPEG-TS. Let it send MPEG-TS, or read it in an advanced pipeline with udpsrc and rtph264depay.',
  other: 'The source sends data that is not MPEG-TS. Let it send its video in MPEG-TS.',
} as const

export const SOUND_ALONE = 'The source sends sound, but no video. Let it send video, or check its address.'

/**
 * Nothing is linked to the pad of another stream, such as that of an encoder that has restarted. What has played is not unsupported;
 * whether its successor is, the next run finds out.
 */
export const videoChanged = (cause?: Fault): Fault => new Fault('ended', 'The source goes on with another video stream.', { cause })

interface Reading {
  /** The video is passed through. */
  readonly passesVideo: boolean
  /** tsdemux reads this program, or the first; `any`: the engine reads the one that has video. */
  readonly program?: number | 'any' | undefined
  readonly stop: (why: Fault) => void
}

/** What the program maps of an MPEG-TS mean for the run that reads it. */
export const transportEvents = (run: RunContext, { passesVideo, program: read, stop }: Reading): MpegTsEvents => ({
  onAvailable: (available, synchronous) => run.report({ type: 'klv', available, synchronous }),
  // Its pad is missing or stays without a link, and the child waits: the transport stream itself goes on to the KLV.
  onVideo: ({ types, program, firstProgram }) => {
    if (read !== 'any' && program !== (read ?? firstProgram)) stop(otherProgram(program))
    else if (passesVideo && !types.some((type) => PASSED_TYPES.has(type))) stop(new Fault('unsupported', OTHER_CODEC))
  },
  onVideoLost: () => stop(videoChanged()),
})
