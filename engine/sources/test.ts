import type { ApiError } from '../../lib/errors.ts'
import { validationError } from '../../lib/validate.ts'
import type { Address } from '../faults/address.ts'
import { chain, element } from '../gst/element.ts'
import { type SourceKind, UNKNOWN, unprobed } from './source-kind.ts'

const PATTERNS = ['smpte', 'ball', 'snow'] as const

interface TestPicture {
  readonly pattern: (typeof PATTERNS)[number]
  readonly width: number
  readonly height: number
  /** Frames per second. */
  readonly fps: number
  readonly klv: boolean
  /** A tone of 1 kHz, a beep each second. */
  readonly audio: boolean
}

const invalid = (message: string): ApiError => validationError('pipeline', [{ path: 'source.uri', message }])

const wholeNumber = (address: Address, name: string, least: number, most: number, fallback: number): number => {
  const text = address.query.get(name)
  if (text === null) return fallback
  const value = Number(text)
  if (!/^\d{1,5}$/.test(text) || value < least || value > most) throw invalid(`${name} must be a whole number from ${least} to ${most}`)
  return value
}

const flag = (address: Address, name: string): boolean => {
  const text = address.query.get(name) ?? '0'
  if (text !== '0' && text !== '1') throw invalid(`${name} must be 0 or 1`)
  return text === '1'
}

const KNOWN = new Set(['width', 'height', 'fps', 'klv', 'audio'])

/** Parses `test://smpte?width=&height=&fps=&klv=1&audio=1`. VALIDATION_ERROR for anything else. */
const parse = (address: Address): TestPicture => {
  const pattern = PATTERNS.find((known) => known === address.host)
  if (pattern === undefined) throw invalid(`Use one of: ${PATTERNS.map((known) => `test://${known}`).join(', ')}`)
  const unknown = [...address.query.keys()].find((name) => !KNOWN.has(name))
  if (unknown !== undefined) throw invalid(`Use only the parameters ${[...KNOWN].join(', ')}`)
  const width = wholeNumber(address, 'width', 16, 8192, 640)
  const height = wholeNumber(address, 'height', 16, 8192, 360)
  if (width % 2 === 1 || height % 2 === 1) throw invalid('width and height must be even')
  const fps = wholeNumber(address, 'fps', 1, 240, 30)
  return { pattern, width, height, fps, klv: flag(address, 'klv'), audio: flag(address, 'audio') }
}

/** A test picture, with the KLV of a simulated flight, and a beep. */
export const test: SourceKind = {
  elements: {},
  confidential: false,
  encoding: { codec: 'h264', bitrate: 2000, quality: 7 },
  ...unprobed(({ address }) => {
    const { fps, klv } = parse(address)
    return { ...UNKNOWN, klv, frameRate: fps }
  }),
  line: ({ address }, { klv }) => {
    const { pattern, width, height, fps, audio } = parse(address)
    return {
      tokens: chain(element('videotestsrc', { 'is-live': true, pattern }), [
        `video/x-raw,format=I420,width=${width},height=${height},framerate=${fps}/1`,
      ]),
      ends: 'video',
      form: 'raw',
      ...(klv === true && { syntheticKlv: true }),
      ...(audio && { beeps: true }),
    }
  },
  reach: () => ({}),
}
