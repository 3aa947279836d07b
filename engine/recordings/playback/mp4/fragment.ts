import { box, fullBox, long, words } from './boxes.ts'

/** A sample with its times on the clock of its track. */
export interface TimedSample {
  readonly key: boolean
  readonly time: number
  /** From `time` to when it is shown. */
  readonly offset: number
  readonly bytes: Buffer
}

export interface FragmentTrack {
  readonly id: number
  readonly samples: readonly TimedSample[]
  /** Of its last sample. */
  readonly lastDuration: number
}

const DEFAULT_BASE_IS_MOOF = 0x02_0000
const HAS_OFFSET = 0x01
const HAS_DURATIONS = 0x100
const HAS_SIZES = 0x200
const HAS_FLAGS = 0x400
const HAS_COMPOSITION = 0x800
const KEY_FLAGS = 0x0200_0000
const DELTA_FLAGS = 0x0101_0000
const PICTURES = 1

/** A movie fragment and its media (ISO/IEC 14496-12 section 8.8). */
export const fragment = (sequence: number, tracks: readonly FragmentTrack[]): Buffer => {
  const present = tracks.filter(({ samples }) => samples.length > 0)
  const media = present.map(({ samples }) => Buffer.concat(samples.map(({ bytes }) => bytes)))
  const size = movieFragment(sequence, present, []).length
  let at = size + 8
  const offsets = media.map(({ length }) => {
    const offset = at
    at += length
    return offset
  })
  return Buffer.concat([movieFragment(sequence, present, offsets), box('mdat', ...media)])
}

/** `offsets`: of the media of each track, from the beginning of the fragment. */
const movieFragment = (sequence: number, tracks: readonly FragmentTrack[], offsets: readonly number[]): Buffer =>
  box(
    'moof',
    fullBox('mfhd', 0, 0, words(sequence)),
    ...tracks.map((track, number) =>
      box(
        'traf',
        fullBox('tfhd', 0, DEFAULT_BASE_IS_MOOF, words(track.id)),
        fullBox('tfdt', 1, 0, long(track.samples[0]?.time ?? 0)),
        trackRun(track, offsets[number] ?? 0),
      ),
    ),
  )

/** Frames of sound need no flags and are shown when they are decoded. */
const trackRun = ({ id, samples, lastDuration }: FragmentTrack, offset: number): Buffer => {
  const isPictures = id === PICTURES
  const flags = HAS_OFFSET | HAS_DURATIONS | HAS_SIZES | (isPictures ? HAS_FLAGS | HAS_COMPOSITION : 0)
  const entries = samples.flatMap(({ key, time, offset: shownAfter, bytes }, number) => {
    const next = samples[number + 1]
    const duration = next === undefined ? lastDuration : Math.max(0, next.time - time)
    return isPictures ? [duration, bytes.length, key ? KEY_FLAGS : DELTA_FLAGS, shownAfter] : [duration, bytes.length]
  })
  return fullBox('trun', 0, flags, words(samples.length, offset, ...entries))
}
