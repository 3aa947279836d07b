import type { Source } from '../../lib/schema/pipeline.ts'
import type { SOURCE_SCHEMES } from '../../lib/uri/uri-schemas.ts'
import { parseAddress } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import type { Elements } from '../gst/elements.ts'
import { file } from './file.ts'
import { http } from './http.ts'
import { rtmp } from './rtmp.ts'
import { rtsp } from './rtsp.ts'
import type { ParsedSource, SourceKind } from './source-kind.ts'
import { srt } from './srt.ts'
import { test } from './test.ts'
import { udp } from './udp.ts'
import { v4l2 } from './v4l2.ts'

/** The kind of source behind each scheme. */
const KINDS: Readonly<Record<keyof typeof SOURCE_SCHEMES, SourceKind>> = {
  rtsp,
  rtsps: rtsp,
  rtspt: rtsp,
  udp,
  srt,
  rtmp,
  rtmps: rtmp,
  http,
  https: http,
  file,
  test,
  v4l2,
}

/** The elements that only sources have. */
export const SOURCE_ELEMENTS: Elements = Object.assign({}, ...Object.values(KINDS).map(({ elements }) => elements))

const isScheme = (scheme: string): scheme is keyof typeof KINDS => Object.hasOwn(KINDS, scheme)

/** The kind of a source, and its parsed address. Fault unsupported for an unknown scheme, and for a malformed address. */
export const parseSource = (source: Source): { readonly kind: SourceKind; readonly parsed: ParsedSource } => {
  const address = parseAddress(source.uri)
  if (!isScheme(address.scheme))
    throw new Fault('unsupported', `Sources with ${address.scheme}:// are not supported. Use one of: ${Object.keys(KINDS).join(', ')}.`)
  return { kind: KINDS[address.scheme], parsed: { ...source, address } }
}
