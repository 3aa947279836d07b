import { decodeGeolocation } from './exif.ts'
import { findExif, readJpeg } from './jpeg.ts'

export interface JpegMetadata {
  /** Pixels. */
  readonly width: number | null
  readonly height: number | null
  readonly geolocation: { latitude: number; longitude: number; altitude: number | null; heading: number | null } | null
}

/** The metadata in the first bytes of a JPEG file; null where it is missing. */
export const readJpegMetadata = (head: Buffer): JpegMetadata => {
  const size = readJpeg(head)
  const exif = findExif(head)
  return { width: size?.width ?? null, height: size?.height ?? null, geolocation: (exif && decodeGeolocation(exif)) ?? null }
}
