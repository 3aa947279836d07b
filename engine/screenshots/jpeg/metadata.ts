import { decodeGeolocation } from './exif.ts'
import { findExif, readJpeg } from './jpeg.ts'

export interface JpegMetadata {
  readonly width: number | null
  readonly height: number | null
  readonly geolocation: { latitude: number; longitude: number; altitude: number | null; heading: number | null } | null
}

/** What the first bytes of a picture's file tell; null where they do not. */
export const readJpegMetadata = (head: Buffer): JpegMetadata => {
  const size = readJpeg(head)
  const exif = findExif(head)
  return { width: size?.width ?? null, height: size?.height ?? null, geolocation: (exif && decodeGeolocation(exif)) ?? null }
}
