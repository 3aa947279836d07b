import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { decodeGeolocation, encodeExif } from '../../../engine/screenshots/jpeg/exif.ts'
import { findExif, readJpeg, wholeJpeg, withExif } from '../../../engine/screenshots/jpeg/jpeg.ts'
import { createRandom } from '../../helpers/random.ts'

const jpeg = (width: number, height: number, quality = 85): Buffer =>
  execFileSync('gst-launch-1.0', [
    '-q',
    ...`videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=${width},height=${height} ! jpegenc quality=${quality} ! fdsink fd=1`.split(
      ' ',
    ),
  ])

const TIME = Date.parse('2008-10-24T00:13:29.913Z')

/** Tags as read by ffprobe, an independent reader. */
const tagsOf = (image: Buffer): Record<string, string> => {
  const folder = mkdtempSync(join(tmpdir(), 'exif-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'image.jpg')
  writeFileSync(path, image)
  const text = execFileSync('ffprobe', ['-v', 'error', '-show_entries', 'frame_tags', '-show_frames', '-of', 'json', path], {
    encoding: 'utf8',
  })
  return (JSON.parse(text) as { frames: readonly { tags: Record<string, string> }[] }).frames[0]?.tags ?? {}
}

describe('reading a JPEG', () => {
  it('returns the size, also from its first bytes', () => {
    const picture = jpeg(322, 242)
    expect(readJpeg(picture)).toEqual({ width: 322, height: 242, end: picture.length })
    expect(readJpeg(picture.subarray(0, 700))).toMatchObject({ width: 322, height: 242, end: undefined })
  })

  it('takes exactly one whole JPEG', () => {
    const picture = jpeg(128, 96)
    expect(wholeJpeg(picture)).toEqual({ jpeg: picture, width: 128, height: 96 })
    for (const other of [
      picture.subarray(0, -1),
      picture.subarray(1),
      Buffer.concat([picture, picture]),
      Buffer.concat([picture, Buffer.from('x')]),
      Buffer.alloc(0),
      Buffer.from('not a JPEG'),
    ])
      expect(wholeJpeg(other)).toBeUndefined()
  })

  it('reads twenty thousand damaged files without throwing', () => {
    const random = createRandom(7).next
    const whole = withExif(
      jpeg(64, 48),
      encodeExif(TIME, { width: 64, height: 48 }, { latitude: 1, longitude: 2, altitude: 3, heading: 4 }),
    )
    let read = 0
    for (let round = 0; round < 20_000; round += 1) {
      const damaged = Buffer.from(whole.subarray(0, Math.floor(random() * whole.length)))
      for (let hit = 0; hit < 4 && damaged.length > 0; hit += 1)
        damaged[Math.floor(random() * Math.min(600, damaged.length))] = Math.floor(random() * 256)
      wholeJpeg(damaged)
      const exif = findExif(damaged)
      if (exif !== undefined && decodeGeolocation(exif) !== undefined) read += 1
    }
    expect(read).toBeGreaterThan(0)
  })
})

describe('the Exif of a screenshot', () => {
  it('is read correctly by ffprobe', () => {
    const geolocation = { latitude: -60.1768, longitude: 128.4268, altitude: -12.5, heading: 159.97 }
    const tags = tagsOf(withExif(jpeg(64, 48), encodeExif(TIME, { width: 64, height: 48 }, geolocation)))
    expect(tags).toMatchObject({
      DateTime: '2008:10:24 00:13:29',
      DateTimeOriginal: '2008:10:24 00:13:29',
      SubSecTimeOriginal: '913',
      GPSLatitudeRef: 'S',
      GPSLongitudeRef: 'E',
      GPSImgDirectionRef: 'T',
      GPSDateStamp: '2008:10:24',
    })
    const rationals = (text = ''): number[] => [...text.matchAll(/(\d+):(\d+)/g)].map(([, over, under]) => Number(over) / Number(under))
    expect(rationals(tags.GPSLatitude)).toEqual([60, 10, 36.48])
    expect(rationals(tags.GPSLongitude)).toEqual([128, 25, 36.48])
    expect(rationals(tags.GPSAltitude)).toEqual([12.5])
    expect(tags.GPSAltitudeRef?.trim()).toBe('1')
    expect(rationals(tags.GPSTimeStamp)).toEqual([0, 13, 29])
    expect(rationals(tags.GPSImgDirection)).toEqual([159.97])
  })

  it('has the tags that Exif makes mandatory, and the zone of each time', () => {
    const tags = tagsOf(withExif(jpeg(64, 48), encodeExif(TIME, { width: 64, height: 48 }, null)))
    const trimmed = Object.fromEntries(Object.entries(tags).map(([name, value]) => [name, value.trim()]))
    expect(trimmed).toMatchObject({
      XResolution: expect.stringMatching(/72:1$/),
      YResolution: expect.stringMatching(/72:1$/),
      ResolutionUnit: '2',
      YCbCrPositioning: '1',
      ComponentsConfiguration: expect.stringMatching(/1, *2, *3, *0/),
      ColorSpace: '1',
      PixelXDimension: '64',
      PixelYDimension: '48',
    })
  })

  it('has no GPS tags without a geolocation', () => {
    const tags = tagsOf(withExif(jpeg(64, 48), encodeExif(TIME, { width: 64, height: 48 }, null)))
    expect(Object.keys(tags).filter((name) => name.startsWith('GPS'))).toEqual([])
    expect(tags.DateTimeOriginal).toBe('2008:10:24 00:13:29')
  })

  it.each([
    { latitude: 0, longitude: 0, altitude: null, heading: null },
    { latitude: 90, longitude: -180, altitude: 0, heading: 0 },
    { latitude: -90, longitude: 180, altitude: 100000, heading: 360 },
    { latitude: 60.176822966, longitude: 128.426759042, altitude: 14190.719, heading: 159.97 },
    { latitude: -0.000001, longitude: 179.999999999, altitude: -1000, heading: 0.01 },
    { latitude: 59.999999999, longitude: -0.5, altitude: 1.5, heading: null },
  ])('round-trips $latitude, $longitude, $altitude, $heading', (geolocation) => {
    const picture = withExif(jpeg(32, 32), encodeExif(TIME, { width: 32, height: 32 }, geolocation))
    const exif = findExif(picture) ?? Buffer.alloc(0)
    expect(decodeGeolocation(exif)).toEqual({ ...geolocation, latitude: geolocation.latitude + 0 })
    expect(readJpeg(picture)).toEqual({ width: 32, height: 32, end: picture.length })
  })
})
