import type { Pipeline } from '../api/types.ts'

/** `1.2 Mbit/s`, `850 kbit/s`. */
export const bitrateText = (kbps: number): string =>
  kbps >= 1000 ? `${(kbps / 1000).toFixed(kbps >= 10_000 ? 0 : 1)} Mbit/s` : `${Math.round(kbps)} kbit/s`

export const fpsText = (fps: number): string => `${fps >= 99.5 ? Math.round(fps) : Number(fps.toFixed(1))} fps`

/** `4 s`, `12 min`, `3 h 20 min`, `5 d 2 h`. */
export const durationText = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

export const countText = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** The time of day, with the date unless it is today. */
export const timeText = (iso: string): string => {
  const at = new Date(iso)
  const time = at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' })
  return at.toDateString() === new Date().toDateString() ? time : `${at.toLocaleDateString()} ${time}`
}

/** `14:05`, of seconds since the epoch. */
export const clockText = (seconds: number): string =>
  new Date(seconds * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })

export const bytesText = (bytes: number): string =>
  bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`

/** The source; the API masks its credentials. */
export const sourceText = (pipeline: Pipeline): string => (pipeline.mode === 'simple' ? pipeline.source.uri : pipeline.raw_pipeline)

export const CODEC_NAMES = { h264: 'H.264', h265: 'H.265' } as const

/** Codec and size as configured: `H.264 1280×720`. */
export const encodingText = (pipeline: Pipeline): string => {
  if (pipeline.mode === 'advanced') return 'Advanced'
  const { encoding } = pipeline
  if (encoding === null) return 'Passed through'
  const size = encoding.width === undefined ? '' : ` ${encoding.width}×${encoding.height}`
  return `${CODEC_NAMES[encoding.codec]}${size}`
}

/** Replaces masked credentials, which the API cannot check. The text is long enough for an SRT passphrase. */
export const withPlaceholders = (text: string): string =>
  text.replaceAll(/(:\/\/)(?=[^\s/@]*\*\*\*)[^\s/@]*@/g, '$1user:password@').replaceAll('***', 'placeholder')
