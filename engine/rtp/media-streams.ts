import { RtpStream, type RtpStreamOptions } from './stream.ts'
import { Timeline } from './timeline.ts'

/** The streams of a pipeline, in the order of the tracks of its outputs. */
export type MediaStreams = readonly [video: RtpStream, klv: RtpStream, sound: RtpStream]

/** Streams with comparable times; the cached sound begins where the cached pictures do. */
export const createMediaStreams = (options: Pick<RtpStreamOptions, 'onListenerError'> = {}): MediaStreams => {
  const shared = { ...options, timeline: new Timeline() }
  const video = new RtpStream(shared)
  return [video, new RtpStream(shared), new RtpStream({ ...shared, follows: video })]
}
