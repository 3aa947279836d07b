import { describe, expect, it } from 'vitest'
import type { Finished } from '../../../../engine/gst/child.ts'
import { codecOfEncoder } from '../../../../engine/gst/encoder-table.ts'
import { missingElement } from '../../../../engine/gst/missing-element.ts'

/** A host with these elements. */
const host =
  (...has: readonly string[]) =>
  async (_file: string, args: readonly string[]): Promise<Finished> => ({
    exitCode: has.includes(args[1] ?? '') ? 0 : 1,
    signal: null,
    missing: false,
    stdout: '',
    stderr: '',
    timedOut: false,
  })

describe('an element that GStreamer does not know', () => {
  it.each([
    ['x264enc', 'gstreamer1.0-plugins-ugly'],
    ['x265enc', 'gstreamer1.0-plugins-bad'],
    ['avdec_h264', 'gstreamer1.0-libav'],
    ['rtph264pay', 'gstreamer1.0-plugins-good'],
    ['videoconvert', 'gstreamer1.0-plugins-base'],
  ])('is missing with its package: %s of %s', async (name, aptPackage) => {
    expect(await missingElement(name, host())).toMatchObject({
      reason: 'missing_element',
      message: `The element ${name} is not installed. Install it: apt-get install ${aptPackage}`,
    })
  })

  it('is a spelling mistake where its package is installed, or when no package is known', async () => {
    expect(await missingElement('videotestsrcc', host('videoconvert'))).toBeUndefined()
    expect(await missingElement('nosuchelement', host())).toBeUndefined()
    expect(await missingElement(undefined, host())).toBeUndefined()
  })
})

describe('the codec of an element', () => {
  it.each([
    ['x264enc', 'h264'],
    ['openh264enc', 'h264'],
    ['vah264lpenc', 'h264'],
    ['varenderD129h264enc', 'h264'],
    ['v4l2h264enc', 'h264'],
    ['nvautogpuh264enc', 'h264'],
    ['nvh264device1enc', 'h264'],
    ['avenc_h264_omx', 'h264'],
    ['vtenc_h264_hw', 'h264'],
    ['x265enc', 'h265'],
    ['nvh265enc', 'h265'],
    ['svthevcenc', 'h265'],
    ['h264parse', undefined],
    ['rtph264pay', undefined],
    ['avdec_h264', undefined],
    ['vah265dec', undefined],
    ['jpegenc', undefined],
    ['encodebin', undefined],
    ['avenc_aac', undefined],
  ])('%s is %s', (element, codec) => expect(codecOfEncoder(element)).toBe(codec))
})
