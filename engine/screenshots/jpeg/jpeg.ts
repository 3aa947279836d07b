/** Size and length of a JPEG, from its markers (ITU-T T.81 annex B). */
interface JpegFrame {
  /** Pixels. */
  readonly width: number
  readonly height: number
  /** Offset after the end marker; undefined when the data ends before it. */
  readonly end: number | undefined
}

const SOI = 0xd8
const EOI = 0xd9
const SOS = 0xda
const APP1 = 0xe1

/** Start of frame: 0xC0 to 0xCF but DHT (C4), JPG (C8) and DAC (CC). */
const isFrameHeader = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc

/** Calls back for each marker segment before the first scan; returns the offset of the entropy-coded data, undefined when it is missing. */
const walkSegments = (data: Buffer, visit: (marker: number, from: number, to: number) => void): number | undefined => {
  if (data[0] !== 0xff || data[1] !== SOI) return undefined
  let offset = 2
  while (offset + 4 <= data.length && data[offset] === 0xff) {
    const marker = data[offset + 1] ?? 0
    const to = offset + 2 + data.readUInt16BE(offset + 2)
    visit(marker, offset + 4, Math.min(to, data.length))
    if (marker === SOS) return to
    offset = to
  }
  return undefined
}

/** Reads a JPEG, which may be truncated. Undefined when its size is missing. */
export const readJpeg = (data: Buffer): JpegFrame | undefined => {
  let size: { readonly width: number; readonly height: number } | undefined
  const scan = walkSegments(data, (marker, from, to) => {
    if (isFrameHeader(marker) && from + 5 <= to) size = { height: data.readUInt16BE(from + 1), width: data.readUInt16BE(from + 3) }
  })
  if (size === undefined) return undefined
  return { ...size, end: scan === undefined ? undefined : endOfImage(data, scan) }
}

// In entropy-coded data 0xFF is followed by a stuffed 0x00 (section B.1.1.5), and no segment between the scans of jpegenc contains FF D9.
const endOfImage = (data: Buffer, from: number): number | undefined => {
  const at = data.indexOf(Buffer.from([0xff, EOI]), from)
  return at === -1 ? undefined : at + 2
}

/** Undefined when this is not exactly one whole JPEG. */
export const wholeJpeg = (jpeg: Buffer): { readonly jpeg: Buffer; readonly width: number; readonly height: number } | undefined => {
  const frame = readJpeg(jpeg)
  return frame?.end === jpeg.length ? { jpeg, width: frame.width, height: frame.height } : undefined
}

const EXIF = Buffer.from('Exif\0\0', 'latin1')

/** The TIFF structure inside the Exif segment, undefined when there is none. */
export const findExif = (jpeg: Buffer): Buffer | undefined => {
  let found: Buffer | undefined
  walkSegments(jpeg, (marker, from, to) => {
    if (marker !== APP1 || found !== undefined || !jpeg.subarray(from, from + EXIF.length).equals(EXIF)) return
    found = jpeg.subarray(from + EXIF.length, to)
  })
  return found
}

/** The JPEG with an Exif segment directly after its start marker, as CIPA DC-008 section 4.5.4 requires. */
export const withExif = (jpeg: Buffer, tiff: Buffer): Buffer => {
  const head = Buffer.from([0xff, SOI, 0xff, APP1, 0, 0])
  head.writeUInt16BE(2 + EXIF.length + tiff.length, 4)
  return Buffer.concat([head, EXIF, tiff, jpeg.subarray(2)])
}
