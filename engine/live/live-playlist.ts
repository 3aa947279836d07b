/** A piece of live video in memory. */
export interface LiveSegment {
  readonly number: number
  readonly startedAt: number
  readonly seconds: number
  /** Its times, its codec or its tracks do not continue those of the one before. */
  readonly isNew: boolean
  readonly packets: readonly Buffer[]
  readonly bytes: number
}

export interface LivePlaylist {
  readonly segments: readonly LiveSegment[]
  /** The longest that a segment may be; stays the same (RFC 8216 section 6.2.1). */
  readonly targetSeconds: number
  /** How many segments that were new have left the playlist. */
  readonly discontinuities: number
  readonly ended: boolean
}

/** The name of a segment below the folder of the playlist. */
export const liveSegmentName = (number: number): string => `${number}.ts`

/** A live HLS playlist (RFC 8216); `folder`: the address of the segments below that of the playlist. */
export const livePlaylistOf = ({ segments, targetSeconds, discontinuities, ended }: LivePlaylist, folder: string): string => {
  const lines = ['#EXTM3U', '#EXT-X-VERSION:3', `#EXT-X-TARGETDURATION:${targetSeconds}`]
  lines.push(`#EXT-X-MEDIA-SEQUENCE:${segments[0]?.number ?? 0}`, `#EXT-X-DISCONTINUITY-SEQUENCE:${discontinuities}`)
  for (const { number, startedAt, seconds, isNew } of segments) {
    if (isNew) lines.push('#EXT-X-DISCONTINUITY')
    lines.push(`#EXT-X-PROGRAM-DATE-TIME:${new Date(startedAt).toISOString()}`)
    lines.push(`#EXTINF:${seconds.toFixed(3)},`, `${folder}/${liveSegmentName(number)}`)
  }
  if (ended) lines.push('#EXT-X-ENDLIST')
  return `${lines.join('\n')}\n`
}
