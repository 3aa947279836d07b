import type { Playlist, Segment, Variant } from './playlist.ts'

type MediaPlaylist = Extract<Playlist, { readonly kind: 'media' }>

/** A live stream is joined this many segments before its end (RFC 8216 section 6.3.3). */
const LIVE_SEGMENTS = 3
/** A playlist whose numbers are so far behind those that were read belongs to an encoder that has restarted. */
const RESTARTED = 2

const VIDEO = /^(?:avc|hvc|hev|dvh)/i

/** The variant with the highest bandwidth of those whose video may be passed through; else of those that may have video. */
export const chooseVariant = (variants: readonly Variant[]): Variant | undefined => {
  const has = (variant: Variant): boolean => variant.codecs.length === 0 || variant.codecs.some((codec) => VIDEO.test(codec))
  const candidates = variants.some(has) ? variants.filter(has) : variants
  return candidates.reduce<Variant | undefined>(
    (best, variant) => (best && best.bandwidth >= variant.bandwidth ? best : variant),
    undefined,
  )
}

interface DueSegments {
  readonly segments: readonly Segment[]
  /** They do not go on from what was read before. */
  readonly restarted: boolean
}

/** The segments of a playlist to read next; `next`: the media sequence number after those that were read, undefined at the start. */
export const dueSegments = ({ segments, ended }: MediaPlaylist, next: number | undefined): DueSegments => {
  const last = segments.at(-1)?.sequence ?? 0
  if (next === undefined) return { segments: ended ? segments : segments.slice(-LIVE_SEGMENTS), restarted: false }
  if (segments.length > 0 && last + RESTARTED < next) return { segments: segments.slice(-LIVE_SEGMENTS), restarted: true }
  return { segments: segments.filter(({ sequence }) => sequence >= next), restarted: false }
}

/** How long to wait from one request for a playlist to the next, seconds (RFC 8216 section 6.3.4). */
export const reloadSeconds = ({ targetSeconds }: MediaPlaylist, changed: boolean): number =>
  Math.min(Math.max(changed ? targetSeconds : targetSeconds / 2, 0.5), 30)
