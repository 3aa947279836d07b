import { isDevicePath } from '../../../lib/schema/camera.ts'
import { validationError } from '../../../lib/validate.ts'

/** The parts of `v4l2:///dev/video0?encoding=mjpeg&width=1280&height=720&fps=30`; what the address leaves open is undefined. */
export interface CameraAddress {
  readonly device_path: string
  readonly encoding?: string
  readonly width?: number
  readonly height?: number
  /** frames per second */
  readonly fps?: number
}

/** Other names of the same formats: V4L2's fourcc in lower case, and common ones. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['jpeg', 'mjpeg'],
  ['mjpg', 'mjpeg'],
  ['avc', 'h264'],
  ['hevc', 'h265'],
  ['yuyv', 'yuy2'],
  ['yu12', 'i420'],
  ['grey', 'gray8'],
  ['y16', 'gray16_le'],
])

const PARAMETERS = {
  encoding: { pattern: /^[A-Za-z0-9_-]{1,32}$/, message: 'encoding: use mjpeg, h264, h265, raw or a pixel format' },
  width: { pattern: /^(?!0+$)\d{1,5}$/, message: 'width: use a whole number of pixels' },
  height: { pattern: /^(?!0+$)\d{1,5}$/, message: 'height: use a whole number of pixels' },
  fps: { pattern: /^(?![0.]+$)\d{1,3}(?:\.\d{1,3})?$/, message: 'fps: use frames per second such as 30 or 29.97' },
} as const

const NAMES = Object.keys(PARAMETERS)

const invalid = (messages: readonly string[]) =>
  validationError(
    'camera source',
    messages.map((message) => ({ path: 'source.uri', message })),
  )

/** Parses a `v4l2://` address. VALIDATION_ERROR for a path that is not a video device, and for unknown, repeated or malformed parameters. */
export const parseCameraAddress = (uri: string): CameraAddress => {
  const url = URL.canParse(uri) ? new URL(uri) : undefined
  const path = url === undefined ? '' : decode(url.pathname)
  if (url?.protocol !== 'v4l2:' || url.host !== '' || url.hash !== '' || !isDevicePath(path)) {
    throw invalid(['Use the address of a video device such as v4l2:///dev/video0'])
  }
  const query = url.searchParams
  const mistakes = [...new Set(query.keys())].flatMap((name) => mistakesIn(name, query.getAll(name)))
  if (mistakes.length > 0) throw invalid(mistakes)
  const encoding = query.get('encoding')?.toLowerCase()
  const number = (name: 'width' | 'height' | 'fps') => (query.has(name) ? { [name]: Number(query.get(name)) } : {})
  return {
    device_path: path,
    ...(encoding !== undefined && { encoding: ALIASES.get(encoding) ?? encoding }),
    ...number('width'),
    ...number('height'),
    ...number('fps'),
  }
}

const decode = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    return ''
  }
}

const mistakesIn = (name: string, [value = '', ...others]: readonly string[]): readonly string[] => {
  if (!Object.hasOwn(PARAMETERS, name)) return [`Use only the parameters ${NAMES.join(', ')}`]
  if (others.length > 0) return [`${name}: give it only once`]
  const { pattern, message } = PARAMETERS[name as keyof typeof PARAMETERS]
  return pattern.test(value) ? [] : [message]
}
