import type { CameraCapabilities, CameraFormat, CameraKind, CameraSize } from '../../../lib/schema/camera.ts'
import { validationError } from '../../../lib/validate.ts'
import { type CameraAddress, parseCameraAddress } from './address.ts'

/** What v4l2src is to deliver. */
export interface CameraMode {
  readonly device_path: string
  readonly kind: CameraKind
  readonly media_type: string
  readonly pixel_format: string | null
  readonly width: number
  readonly height: number
  /** frames per second, null when the driver lists none and the address names none */
  readonly fps: number | null
  /** Whether `fps` names a rate of the driver's list, which is rounded here to three decimals. */
  readonly listed_fps: boolean
}

/**
 * Chooses the mode of the camera that matches its address. What the address leaves open is the largest picture up to 1920x1080
 * at 15 to 30 frames per second. VALIDATION_ERROR lists what the camera offers, or says that `encoding` is needed when the
 * video is to be passed through (`reencode: false`) and the camera sends no H.264 or H.265.
 */
export const chooseCameraMode = (uri: string, camera: CameraCapabilities, options: { readonly reencode: boolean }): CameraMode => {
  const address = parseCameraAddress(uri)
  const usable = camera.formats.filter((format) => kindOf(format) !== undefined)
  const matching = preferNode(address, usable).filter((format) => matchesEncoding(format, address.encoding))
  const modes = matching.flatMap((format) => format.sizes.flatMap((size) => toMode(format, size, address) ?? []))
  const allowed = options.reencode ? modes : modes.filter(({ kind }) => kind === 'h264' || kind === 'h265')
  const best = allowed.reduce<CameraMode | undefined>(
    (a, b) => (a !== undefined && compare(a, b, options.reencode) >= 0 ? a : b),
    undefined,
  )
  if (best !== undefined) return best

  const offers = listOffers(camera.formats)
  if (modes.length > 0) {
    const sends = [...new Set(modes.map(({ kind }) => kind))].join(' and ')
    const message = `The camera sends ${sends} video, which cannot be passed through: set encoding, for example {"codec":"h264"}`
    throw validationError('pipeline', [{ path: 'encoding', message }], { offers })
  }
  const message = `The camera does not offer ${requestText(address)}. It offers ${offers.join('; ') || 'no usable format'}`
  throw validationError('camera source', [{ path: 'source.uri', message }], { offers })
}

/** The formats of the node in the address when it has the encoding in the address, otherwise the formats of all nodes of the camera. */
const preferNode = ({ device_path, encoding }: CameraAddress, formats: readonly CameraFormat[]): readonly CameraFormat[] => {
  const own = formats.filter((format) => format.device_path === device_path)
  return encoding !== undefined && own.some((format) => matchesEncoding(format, encoding)) ? own : formats
}

const kindOf = ({ encoding, pixel_format }: CameraFormat): CameraKind | undefined => {
  if (pixel_format !== null) return 'raw'
  return encoding === 'h264' || encoding === 'h265' || encoding === 'mjpeg' ? encoding : undefined
}

const matchesEncoding = (format: CameraFormat, wanted: string | undefined): boolean =>
  wanted === undefined || format.encoding === wanted || (wanted === 'raw' && format.pixel_format !== null)

const PREFERRED = { width: 1920, height: 1080, fps: 30 } as const
/** fps=30 also matches a rate of 29.97. */
const FPS_TOLERANCE = 0.05

const toMode = (format: CameraFormat, size: CameraSize, address: CameraAddress): CameraMode | undefined => {
  const kind = kindOf(format)
  const range = size.size_range
  const width = pick(address.width, PREFERRED.width, range?.min_width ?? size.width, size.width, range?.step_width ?? 1)
  const height = pick(address.height, PREFERRED.height, range?.min_height ?? size.height, size.height, range?.step_height ?? 1)
  const fps = pickRate(size, address.fps)
  if (kind === undefined || width === undefined || height === undefined || fps === undefined) return undefined
  const { media_type, pixel_format, device_path } = format
  return {
    device_path,
    kind,
    media_type,
    pixel_format,
    width,
    height,
    fps,
    listed_fps: size.frame_rate_range === null && size.frame_rates.length > 0,
  }
}

/** The wanted value when it is one of min, min + step … max; without one the value nearest to the preferred. */
const pick = (wanted: number | undefined, preferred: number, min: number, max: number, step: number): number | undefined => {
  if (wanted !== undefined) return wanted >= min && wanted <= max && (wanted - min) % step === 0 ? wanted : undefined
  const near = Math.min(Math.max(preferred, min), max)
  return min === max ? max : near - ((near - min) % step)
}

const pickRate = ({ frame_rates, frame_rate_range: range }: CameraSize, wanted: number | undefined): number | null | undefined => {
  if (range !== null) {
    const rate = wanted ?? Math.min(Math.max(PREFERRED.fps, range.min), range.max)
    return rate >= range.min && rate <= range.max ? rate : undefined
  }
  if (frame_rates.length === 0) return wanted ?? null
  const target = wanted ?? PREFERRED.fps
  const nearest = frame_rates.reduce((a, b) => (Math.abs(b - target) < Math.abs(a - target) ? b : a))
  return wanted === undefined || Math.abs(nearest - wanted) <= FPS_TOLERANCE ? nearest : undefined
}

const PASSED_THROUGH: readonly CameraKind[] = ['h265', 'h264']
/** When re-encoding: the cheapest to decode comes last. */
const DECODED: readonly CameraKind[] = ['h265', 'h264', 'mjpeg', 'raw']

const merits = (mode: CameraMode, reencode: boolean): readonly number[] => {
  const area = mode.width * mode.height
  const fps = mode.fps ?? PREFERRED.fps
  return [
    reencode ? 0 : PASSED_THROUGH.indexOf(mode.kind),
    fps >= 15 ? 1 : 0,
    area <= PREFERRED.width * PREFERRED.height ? area : -area,
    -Math.abs(fps - PREFERRED.fps),
    DECODED.indexOf(mode.kind),
  ]
}

/** Positive when `a` is better than `b`: the first merit that differs decides. */
const compare = (a: CameraMode, b: CameraMode, reencode: boolean): number => {
  const others = merits(b, reencode)
  return (
    merits(a, reencode)
      .map((merit, index) => merit - (others[index] ?? 0))
      .find((difference) => difference !== 0) ?? 0
  )
}

const MAX_OFFERS = 24

const listOffers = (formats: readonly CameraFormat[]): readonly string[] =>
  formats.flatMap((format) => format.sizes.map((size) => `${format.encoding} ${sizeText(size)}${ratesText(size)}`)).slice(0, MAX_OFFERS)

const sizeText = ({ width, height, size_range: range }: CameraSize): string => {
  if (range === null) return `${width}x${height}`
  const step = range.step_width > 1 || range.step_height > 1 ? ` in steps of ${range.step_width}x${range.step_height}` : ''
  return `${range.min_width}x${range.min_height} to ${range.max_width}x${range.max_height}${step}`
}

const ratesText = ({ frame_rates, frame_rate_range: range }: CameraSize): string => {
  if (range !== null) return ` at ${range.min} to ${range.max} fps`
  return frame_rates.length === 0 ? '' : ` at ${frame_rates.slice(0, 8).join(', ')} fps`
}

const requestText = ({ encoding, width, height, fps }: CameraAddress): string => {
  const size = width === undefined && height === undefined ? '' : `${width ?? 'any width'} x ${height ?? 'any height'}`
  return [encoding, size, fps === undefined ? '' : `${fps} fps`].filter(Boolean).join(' ') || 'a usable format'
}
