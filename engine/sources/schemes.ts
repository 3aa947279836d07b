import type { SOURCE_SCHEMES } from '../../lib/uri/uri-schemas.ts'
import type { Address } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'

/**
 * The kind of source behind each scheme. A new scheme starts at SOURCE_SCHEMES, then gets its kind here; a new kind gets a probe in
 * probe.ts and its elements in launch-line.ts.
 */
const KINDS = {
  rtsp: 'rtsp',
  rtsps: 'rtsp',
  rtspt: 'rtsp',
  udp: 'mpegts',
  srt: 'mpegts',
  rtmp: 'rtmp',
  rtmps: 'rtmp',
  http: 'http',
  https: 'http',
  file: 'file',
  test: 'test',
  v4l2: 'v4l2',
} as const satisfies Record<(typeof SOURCE_SCHEMES)[number], string>

export type SourceKind = (typeof KINDS)[keyof typeof KINDS]

const isScheme = (scheme: string): scheme is keyof typeof KINDS => Object.hasOwn(KINDS, scheme)

/** Fault unsupported for an unknown scheme. */
export const kindOfSource = ({ scheme }: Address): SourceKind => {
  if (!isScheme(scheme))
    throw new Fault('unsupported', `Sources with ${scheme}:// are not supported. Use one of: ${Object.keys(KINDS).join(', ')}.`)
  return KINDS[scheme]
}
