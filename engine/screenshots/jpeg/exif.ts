import type { Geolocation } from '../../../lib/schema/pipeline.ts'

/** Exif 2.32 (CIPA DC-008): a TIFF structure with the time and the geolocation of a screenshot. */

/** Field types (TIFF 6.0 section 2) and the bytes of one value. */
const TYPES = {
  BYTE: { code: 1, bytes: 1 },
  ASCII: { code: 2, bytes: 1 },
  SHORT: { code: 3, bytes: 2 },
  LONG: { code: 4, bytes: 4 },
  RATIONAL: { code: 5, bytes: 8 },
  UNDEFINED: { code: 7, bytes: 1 },
} as const

interface Field {
  readonly tag: number
  readonly type: keyof typeof TYPES
  readonly value: Buffer
}

/** Tag numbers: CIPA DC-008 tables 4, 7 and 15. */
const TAG = {
  xResolution: 0x011a,
  yResolution: 0x011b,
  resolutionUnit: 0x0128,
  dateTime: 0x0132,
  yCbCrPositioning: 0x0213,
  exifIfd: 0x8769,
  gpsIfd: 0x8825,
  exifVersion: 0x9000,
  dateTimeOriginal: 0x9003,
  offsetTime: 0x9010,
  offsetTimeOriginal: 0x9011,
  componentsConfiguration: 0x9101,
  subSecTimeOriginal: 0x9291,
  flashpixVersion: 0xa000,
  colorSpace: 0xa001,
  pixelXDimension: 0xa002,
  pixelYDimension: 0xa003,
  gpsVersion: 0,
  latitudeRef: 1,
  latitude: 2,
  longitudeRef: 3,
  longitude: 4,
  altitudeRef: 5,
  altitude: 6,
  timeStamp: 7,
  imgDirectionRef: 16,
  imgDirection: 17,
  dateStamp: 29,
} as const

const HEADER_BYTES = 8
const ENTRY_BYTES = 12
const SECONDS_SCALE = 1_000_000
const ALTITUDE_SCALE = 1000
const HEADING_SCALE = 100

const ascii = (tag: number, text: string): Field => ({ tag, type: 'ASCII', value: Buffer.from(`${text}\0`, 'latin1') })
const bytes = (tag: number, ...values: readonly number[]): Field => ({ tag, type: 'BYTE', value: Buffer.from(values) })
const short = (tag: number, number: number): Field => ({ tag, type: 'SHORT', value: Buffer.from([number >> 8, number & 0xff]) })
const undefinedBytes = (tag: number, ...values: readonly number[]): Field => ({ tag, type: 'UNDEFINED', value: Buffer.from(values) })
const long = (tag: number, number: number): Field => {
  const value = Buffer.alloc(4)
  value.writeUInt32BE(number)
  return { tag, type: 'LONG', value }
}
const rationals = (tag: number, ...values: readonly (readonly [number, number])[]): Field => {
  const value = Buffer.alloc(8 * values.length)
  for (const [at, [numerator, denominator]] of values.entries()) {
    value.writeUInt32BE(numerator, 8 * at)
    value.writeUInt32BE(denominator, 8 * at + 4)
  }
  return { tag, type: 'RATIONAL', value }
}

interface Size {
  /** Pixels. */
  readonly width: number
  readonly height: number
}

/** What the standard prescribes where nothing is known. */
const UNKNOWN_RESOLUTION = [72, 1] as const
const INCHES = 2
const CENTERED = 1
const SRGB = 1

/**
 * The Exif of a screenshot: its time (milliseconds since the epoch, written as UTC), its size and, if known, its geolocation. It
 * has all tags that CIPA DC-008 makes mandatory; those of an IFD are in ascending order.
 */
export const encodeExif = (takenAt: number, { width, height }: Size, geolocation: Geolocation | null): Buffer => {
  const iso = new Date(takenAt).toISOString()
  const dateTime = iso.slice(0, 19).replaceAll('-', ':').replace('T', ' ')
  const main: readonly Field[] = [
    rationals(TAG.xResolution, UNKNOWN_RESOLUTION),
    rationals(TAG.yResolution, UNKNOWN_RESOLUTION),
    short(TAG.resolutionUnit, INCHES),
    ascii(TAG.dateTime, dateTime),
    short(TAG.yCbCrPositioning, CENTERED),
  ]
  const exif: readonly Field[] = [
    undefinedBytes(TAG.exifVersion, ...Buffer.from('0232', 'latin1')),
    ascii(TAG.dateTimeOriginal, dateTime),
    ascii(TAG.offsetTime, '+00:00'),
    ascii(TAG.offsetTimeOriginal, '+00:00'),
    // Y, Cb, Cr.
    undefinedBytes(TAG.componentsConfiguration, 1, 2, 3, 0),
    ascii(TAG.subSecTimeOriginal, iso.slice(20, 23)),
    undefinedBytes(TAG.flashpixVersion, ...Buffer.from('0100', 'latin1')),
    short(TAG.colorSpace, SRGB),
    long(TAG.pixelXDimension, width),
    long(TAG.pixelYDimension, height),
  ]
  return layOut(main, exif, geolocation === null ? [] : gpsFields(iso, geolocation))
}

const gpsFields = (iso: string, { latitude, longitude, altitude, heading }: Geolocation): readonly Field[] => [
  bytes(TAG.gpsVersion, 2, 3, 0, 0),
  ascii(TAG.latitudeRef, latitude < 0 ? 'S' : 'N'),
  rationals(TAG.latitude, ...sexagesimal(latitude)),
  ascii(TAG.longitudeRef, longitude < 0 ? 'W' : 'E'),
  rationals(TAG.longitude, ...sexagesimal(longitude)),
  ...(altitude === null
    ? []
    : [
        bytes(TAG.altitudeRef, altitude < 0 ? 1 : 0),
        rationals(TAG.altitude, [Math.round(Math.abs(altitude) * ALTITUDE_SCALE), ALTITUDE_SCALE]),
      ]),
  rationals(TAG.timeStamp, [Number(iso.slice(11, 13)), 1], [Number(iso.slice(14, 16)), 1], [Number(iso.slice(17, 19)), 1]),
  ...(heading === null
    ? []
    : [ascii(TAG.imgDirectionRef, 'T'), rationals(TAG.imgDirection, [Math.round(heading * HEADING_SCALE), HEADING_SCALE])]),
  ascii(TAG.dateStamp, iso.slice(0, 10).replaceAll('-', ':')),
]

/** Degrees, minutes and seconds, rounded to a millionth of an arc second, which is 30 µm on the ground. */
const sexagesimal = (degrees: number): readonly (readonly [number, number])[] => {
  const total = Math.round(Math.abs(degrees) * 3600 * SECONDS_SCALE)
  const seconds = total % (60 * SECONDS_SCALE)
  const minutes = (total - seconds) / (60 * SECONDS_SCALE)
  return [
    [Math.floor(minutes / 60), 1],
    [minutes % 60, 1],
    [seconds, SECONDS_SCALE],
  ]
}

/** Header, IFD 0, Exif IFD and GPS IFD in sequence; big-endian. */
const layOut = (main: readonly Field[], exif: readonly Field[], gps: readonly Field[]): Buffer => {
  const pointers = gps.length > 0 ? 2 : 1
  const exifAt = HEADER_BYTES + ifdBytes(main) + pointers * ENTRY_BYTES
  const gpsAt = exifAt + ifdBytes(exif)
  const root = [...main, long(TAG.exifIfd, exifAt), ...(gps.length > 0 ? [long(TAG.gpsIfd, gpsAt)] : [])]
  const header = Buffer.from([0x4d, 0x4d, 0, 42, 0, 0, 0, HEADER_BYTES])
  return Buffer.concat([header, encodeIfd(root, HEADER_BYTES), encodeIfd(exif, exifAt), ...(gps.length > 0 ? [encodeIfd(gps, gpsAt)] : [])])
}

/** Bytes of a value outside its entry: values of up to four bytes are inside, longer ones after the IFD at even offsets. */
const outside = ({ value }: Field): number => (value.length > 4 ? value.length + (value.length % 2) : 0)

const ifdBytes = (fields: readonly Field[]): number =>
  2 + fields.length * ENTRY_BYTES + 4 + fields.reduce((sum, field) => sum + outside(field), 0)

const encodeIfd = (fields: readonly Field[], at: number): Buffer => {
  const ifd = Buffer.alloc(ifdBytes(fields))
  let valueAt = 2 + fields.length * ENTRY_BYTES + 4
  ifd.writeUInt16BE(fields.length, 0)
  for (const [position, field] of fields.entries()) {
    const entry = 2 + position * ENTRY_BYTES
    const { code, bytes: size } = TYPES[field.type]
    ifd.writeUInt16BE(field.tag, entry)
    ifd.writeUInt16BE(code, entry + 2)
    ifd.writeUInt32BE(field.value.length / size, entry + 4)
    if (outside(field) === 0) field.value.copy(ifd, entry + 8)
    else {
      ifd.writeUInt32BE(at + valueAt, entry + 8)
      field.value.copy(ifd, valueAt)
      valueAt += outside(field)
    }
  }
  return ifd
}

/** The geolocation in the Exif; undefined when it has none or was not written by `encodeExif`. */
export const decodeGeolocation = (tiff: Buffer): Geolocation | undefined => {
  if (tiff.length < HEADER_BYTES || tiff.readUInt16BE(0) !== 0x4d4d) return undefined
  const gpsAt = entryOf(tiff, tiff.readUInt32BE(4), TAG.gpsIfd)
  if (gpsAt === undefined) return undefined
  const gps = tiff.readUInt32BE(gpsAt + 8)
  const latitude = readAngle(tiff, gps, TAG.latitude, TAG.latitudeRef, 'S')
  const longitude = readAngle(tiff, gps, TAG.longitude, TAG.longitudeRef, 'W')
  if (latitude === undefined || longitude === undefined) return undefined
  const [altitude] = readRationals(tiff, gps, TAG.altitude, 1)
  const [heading] = readRationals(tiff, gps, TAG.imgDirection, 1)
  const below = firstByte(tiff, gps, TAG.altitudeRef) === 1
  return { latitude, longitude, altitude: altitude === undefined ? null : below ? -altitude : altitude, heading: heading ?? null }
}

/** Offset of an entry of the IFD at `ifd`. */
const entryOf = (tiff: Buffer, ifd: number, tag: number): number | undefined => {
  if (ifd + 2 > tiff.length) return undefined
  const count = tiff.readUInt16BE(ifd)
  for (let entry = ifd + 2; entry + ENTRY_BYTES <= tiff.length && entry < ifd + 2 + count * ENTRY_BYTES; entry += ENTRY_BYTES) {
    if (tiff.readUInt16BE(entry) === tag) return entry
  }
  return undefined
}

const firstByte = (tiff: Buffer, ifd: number, tag: number): number | undefined => {
  const entry = entryOf(tiff, ifd, tag)
  return entry === undefined ? undefined : tiff[entry + 8]
}

const readRationals = (tiff: Buffer, ifd: number, tag: number, count: number): readonly number[] => {
  const entry = entryOf(tiff, ifd, tag)
  if (entry === undefined) return []
  const at = tiff.readUInt32BE(entry + 8)
  if (tiff.readUInt32BE(entry + 4) < count || at + 8 * count > tiff.length) return []
  const values = Array.from({ length: count }, (_, index) => tiff.readUInt32BE(at + 8 * index) / tiff.readUInt32BE(at + 8 * index + 4))
  return values.every(Number.isFinite) ? values : []
}

const readAngle = (tiff: Buffer, ifd: number, tag: number, refTag: number, negative: 'S' | 'W'): number | undefined => {
  const [degrees, minutes, seconds] = readRationals(tiff, ifd, tag, 3)
  if (degrees === undefined || minutes === undefined || seconds === undefined) return undefined
  // Rounded to a billionth of a degree, which restores the decimal that was encoded.
  const angle = Math.round((degrees + minutes / 60 + seconds / 3600) * 1e9) / 1e9
  return firstByte(tiff, ifd, refTag) === negative.charCodeAt(0) ? -angle : angle
}
