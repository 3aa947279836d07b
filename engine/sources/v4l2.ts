import { validationError } from '../../lib/validate.ts'
import type { Address } from './address.ts'

const ENCODINGS = ['h264', 'h265', 'mjpeg', 'raw'] as const

export interface V4l2Source {
  /** Device node, `/dev/video0`. */
  readonly device: string
  readonly encoding: (typeof ENCODINGS)[number]
  readonly width: number | undefined
  readonly height: number | undefined
  readonly fps: number | undefined
}

const refuse = (message: string): Error => validationError('pipeline', [{ path: 'source.uri', message }])

const wholeNumber = (address: Address, name: string, most: number): number | undefined => {
  const text = address.query.get(name)
  if (text === null) return undefined
  if (!/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > most) throw refuse(`${name} must be a whole number of 1 to ${most}`)
  return Number(text)
}

const KNOWN = new Set(['encoding', 'width', 'height', 'fps'])

/** `v4l2:///dev/video0?encoding=&width=&height=&fps=`. VALIDATION_ERROR for anything else. */
export const parseV4l2 = (address: Address): V4l2Source => {
  const [device = ''] = address.path.split('?')
  // Device nodes only, and no way out of /dev by dots.
  if (address.host !== '' || !/^\/dev\/(?:[A-Za-z0-9_:-][A-Za-z0-9_.:-]*\/)*[A-Za-z0-9_:-][A-Za-z0-9_.:-]*$/.test(device)) {
    throw refuse('Use v4l2:///dev/video0')
  }
  if ([...address.query.keys()].some((name) => !KNOWN.has(name))) {
    throw refuse(`A camera source has only these query fields: ${[...KNOWN].join(', ')}`)
  }
  const asked = address.query.get('encoding') ?? 'raw'
  const encoding = ENCODINGS.find((known) => known === asked)
  if (encoding === undefined) throw refuse(`encoding must be one of: ${ENCODINGS.join(', ')}`)
  const width = wholeNumber(address, 'width', 8192)
  const height = wholeNumber(address, 'height', 8192)
  return { device, encoding, width, height, fps: wholeNumber(address, 'fps', 240) }
}
