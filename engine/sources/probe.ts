import { access, constants, stat } from 'node:fs/promises'
import type { Source } from '../../lib/schema/pipeline.ts'
import { Fault } from '../fault.ts'
import { TCP_REFUSED } from '../gst/bus-errors.ts'
import { type Address, parseAddress } from './address.ts'
import { type CameraMode, parseCameraUri } from './camera/mode.ts'
import { type CameraQuestion, checkCamera, probeCamera } from './camera/probe.ts'
import type { SourceFacts, SourceKind } from './facts.ts'
import { probeHttp } from './http.ts'
import { filePath } from './line.ts'
import { factsOfSdp } from './rtsp.ts'
import { describe } from './rtsp-client.ts'
import { parseTestSource } from './test-source.ts'

export type { SourceFacts } from './facts.ts'

export interface ProbeContext {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly allowFiles: boolean
  /** What ended the run before this one: a source that takes no RTSP over TCP is then asked for UDP. */
  readonly previousFault?: Fault | undefined
  /** Who knows what the cameras of this host offer. */
  readonly cameras?: CameraQuestion['cameras']
  /** Whether the video is encoded anew, so that a camera may send any format. */
  readonly reencode?: boolean
}

const KINDS: Readonly<Record<string, SourceKind>> = {
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
}

const kindOf = (address: Address): SourceKind => {
  const kind = KINDS[address.scheme]
  if (kind === undefined) throw new Fault('unsupported', `Sources of the kind ${address.scheme}:// are not supported.`)
  return kind
}

type Probe = (address: Address, source: Source, context: ProbeContext) => Promise<SourceFacts>

const unknownUntilData = { video: null, klv: null, frameRate: null, paced: false } as const

const PROBES: Readonly<Record<SourceKind, Probe>> = {
  rtsp: async (address, source, context) => factsOfSdp(await describe(address, context), address, transportOf(address, source, context)),
  // Nobody can be asked: the data is multicast, or the other side connects to us.
  mpegts: async () => ({ kind: 'mpegts', ...unknownUntilData }),
  rtmp: async () => ({ kind: 'rtmp', ...unknownUntilData, klv: false }),
  http: (address, _source, context) => probeHttp(address, context),
  file: async (address, _source, context) => {
    await checkFile(address, context.allowFiles)
    return { kind: 'file', ...unknownUntilData, paced: true }
  },
  test: async (address) => testFacts(address),
  v4l2: async (_address, source, { cameras, reencode = true, signal }) =>
    cameraFacts(source, await probeCamera(source.uri, { cameras, reencode, signal }), reencode),
}

/** What is at a source address. Throws Fault: what is wrong with it and what to do. */
export const probeSource = (source: Source, context: ProbeContext): Promise<SourceFacts> => {
  const address = parseAddress(source.uri)
  return PROBES[kindOf(address)](address, source, context)
}

/** Sources known to send over UDP only, by their address; the oldest is forgotten first. */
const udpOnly = new Set<string>()
const MAX_REMEMBERED = 1000

/** TCP loses nothing and passes firewalls, so it is tried first; only rtspt:// stays with it when the source refuses it. */
const transportOf = (address: Address, source: Source, context: ProbeContext): 'tcp' | 'udp' => {
  if (address.scheme !== 'rtsp') return 'tcp'
  if (context.previousFault?.cause === TCP_REFUSED) {
    udpOnly.add(source.uri)
    const [oldest] = udpOnly
    if (udpOnly.size > MAX_REMEMBERED && oldest !== undefined) udpOnly.delete(oldest)
  }
  return udpOnly.has(source.uri) ? 'udp' : 'tcp'
}

const FILES_OFF = 'File sources are switched off on this host. Whoever runs the service can allow them with SVC_ALLOW_FILE_SOURCES=1.'

const checkFile = async (address: Address, allowed: boolean): Promise<void> => {
  if (!allowed) throw new Fault('permission', FILES_OFF)
  const path = filePath(address)
  try {
    if (!(await stat(path)).isFile()) throw new Fault('unsupported', 'The file source is not a regular file.')
    await access(path, constants.R_OK)
  } catch (error) {
    if (error instanceof Fault) throw error
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === 'EACCES') throw new Fault('permission', 'The file source may not be read by the service. Check its permissions.')
    throw new Fault('not_found', 'The file source does not exist.')
  }
}

const CAMERA_VIDEO: Readonly<Record<string, string>> = { h264: 'H264', h265: 'H265', mjpeg: 'JPEG' }

/** Of a camera that nobody could ask, H.264 is presumed when its video is to be passed through. */
const cameraFacts = ({ uri }: Source, camera: CameraMode | undefined, reencode: boolean): SourceFacts => {
  const asked = parseCameraUri(uri)
  const encoding = camera?.kind ?? asked.encoding ?? (reencode ? 'raw' : 'h264')
  const video = CAMERA_VIDEO[encoding] ?? null
  const frameRate = camera?.fps ?? asked.fps ?? null
  return { kind: 'v4l2', video, klv: false, frameRate, paced: false, ...(camera && { camera }) }
}

const testFacts = (address: Address): SourceFacts => {
  const { fps, klv } = parseTestSource(address)
  return { kind: 'test', ...unknownUntilData, klv, frameRate: fps }
}

/**
 * Facts for a dry run: what a source usually is, where only the source could tell; a camera that is attached is held to what
 * it offers. Throws Fault as probeSource does.
 */
export const presumeFacts = async (
  source: Source,
  { allowFiles, cameras, reencode = true }: Pick<ProbeContext, 'allowFiles' | 'cameras' | 'reencode'>,
): Promise<SourceFacts> => {
  const address = parseAddress(source.uri)
  if (address.scheme === 'file' && !allowFiles) throw new Fault('permission', FILES_OFF)
  if (kindOf(address) === 'v4l2') return cameraFacts(source, await checkCamera(source.uri, { cameras, reencode }), reencode)
  const kind = kindOf(address)
  const presumed = { kind, ...unknownUntilData }
  if (kind === 'rtsp') return { ...presumed, video: 'H264', klv: null, transport: 'tcp' }
  if (kind === 'http' && /\.m3u8(?:\?|$)/.test(address.path)) return { ...presumed, http: 'hls', paced: true }
  if (kind === 'http') return { ...presumed, http: 'other' }
  if (kind === 'file') return { ...presumed, paced: true }
  if (kind === 'rtmp') return { ...presumed, klv: false }
  if (kind === 'test') return testFacts(address)
  return presumed
}
