import { chain, element, type LaunchTokens } from '../gst/element.ts'
import type { SourceFacts, SourceLine } from './source-kind.ts'

/** Name of the element whose pads carry the tracks. */
export const TRACKS = 'tracks'
/** Name of the tee that carries the whole MPEG-TS. */
export const TRANSPORT = 'transport'

export const TRANSPORT_CAPS = 'video/mpegts,systemstream=(boolean)true,packetsize=(int)188'

// latency=0: tsdemux would otherwise add 700 ms of latency for jitter, which passing through does not smooth.
export const tsdemux = (program?: number): LaunchTokens => element('tsdemux', { name: TRACKS, latency: 0, 'program-number': program })

/** The line of a live MPEG-TS, from the elements that receive it. */
export const transportLine = (program: number | undefined, ...receivers: readonly LaunchTokens[]): SourceLine => ({
  tokens: chain(...receivers, element('tee', { name: TRANSPORT }), tsdemux(program)),
  ends: 'tracks',
  form: 'parsed',
  transport: 'tee',
})

/**
 * Makes the pipeline live, so that a decoder does not fill all its threads with pictures before it gives out the first. A clock that is an
 * hour ahead never waits.
 */
export const live = (): LaunchTokens => element('identity', { sync: true, 'ts-offset': -3600e9 })

/** Buffers that the engine pipes to the child, with their times. */
export const piped = (): LaunchTokens => chain(element('fdsrc', { fd: 0, blocksize: 65_536 }), element('gdpdepay'), live())

/**
 * Sound that is not wanted goes into a closed valve. Some servers send it ahead of the video, and flvdemux ends the stream when none of the tracks that
 * it has so far is linked. A valve is no sink, so the child does not wait for the end of a track that never comes.
 */
export const flvdemux = ({ sound = false }: Pick<SourceFacts, 'sound'>): LaunchTokens => [
  ...element('flvdemux', { name: TRACKS }),
  ...(sound ? [] : chain(FLV_SOUND, element('valve', { drop: true }))),
]

/** The pad of the sound of flvdemux. */
export const FLV_SOUND: LaunchTokens = [`${TRACKS}.audio`]

export const parsebin = (): LaunchTokens => element('parsebin', { name: TRACKS })
