import type { PlayedSegment } from '../../../lib/segments/segment.ts'
import { segmentPlace } from '../../../lib/segments/segment-name.ts'

/** An HLS playlist (RFC 8216) whose segments are the files; `folder`: their address below that of the playlist. */
export const playlistOf = (rows: readonly PlayedSegment[], folder: string): string => {
  const longest = rows.reduce((most, { started_at, ended_at }) => Math.max(most, ended_at - started_at), 1000)
  const lines = ['#EXTM3U', '#EXT-X-VERSION:6', `#EXT-X-TARGETDURATION:${Math.ceil(longest / 1000)}`, '#EXT-X-MEDIA-SEQUENCE:0']
  lines.push('#EXT-X-PLAYLIST-TYPE:VOD', '#EXT-X-INDEPENDENT-SEGMENTS')
  for (const [number, row] of rows.entries()) {
    const before = rows[number - 1]
    const isFirst = before === undefined
    if (!isFirst && (before.span !== row.span || before.run !== row.run)) lines.push('#EXT-X-DISCONTINUITY')
    if (isFirst || before.span !== row.span) lines.push(`#EXT-X-PROGRAM-DATE-TIME:${new Date(row.started_at).toISOString()}`)
    lines.push(`#EXTINF:${((row.ended_at - row.started_at) / 1000).toFixed(3)},`, `${folder}/${segmentPlace(row.started_at).name}`)
  }
  return `${lines.join('\n')}\n#EXT-X-ENDLIST\n`
}
