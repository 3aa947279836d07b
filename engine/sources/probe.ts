import type { Source } from '../../lib/schema/pipeline.ts'
import { type Address, parseAddress, redirection } from '../faults/address.ts'
import { type Described, describeSource } from '../rtsp/client/describe-source.ts'
import { parseCameraAddress } from './camera/address.ts'
import type { CameraMode } from './camera/mode.ts'
import { type CameraProbeOptions, checkCamera, probeCamera } from './camera/probe.ts'
import type { SourceFacts } from './facts.ts'
import { checkFile, checkFilesAllowed } from './file.ts'
import { probeHttp } from './http-probe.ts'
import { kindOfSource, type SourceKind } from './schemes.ts'
import { factsOfSdp } from './sdp-facts.ts'
import { parseTestSource } from './test-source.ts'

export interface ProbeContext {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** Whether file sources are allowed, or the folder in which they are. */
  readonly allowFiles: boolean | string
  /** How an RTSP source is to carry the media. */
  readonly transport: 'tcp' | 'udp'
  /** Capabilities of the host's cameras; undefined on a host without a camera monitor. */
  readonly cameras?: CameraProbeOptions['cameras']
  /** Whether the video is re-encoded, so that a camera may send any format. */
  readonly reencode?: boolean
}

type DryRunContext = Pick<ProbeContext, 'allowFiles' | 'cameras' | 'reencode'>

interface SourceProbe {
  probe(address: Address, source: Source, context: ProbeContext): Promise<SourceFacts>
  /** For a dry run: without contacting the source. */
  presume(address: Address, source: Source, context: DryRunContext): SourceFacts | Promise<SourceFacts>
}

const UNKNOWN = { video: null, klv: null, frameRate: null, paced: false } as const

/** The source cannot be contacted before it is played: its data is multicast, or it connects to the engine. */
const unprobed = (facts: (address: Address) => SourceFacts): SourceProbe => ({ probe: async (address) => facts(address), presume: facts })

const PROBES: Readonly<Record<SourceKind, SourceProbe>> = {
  rtsp: {
    probe: async (address, _source, context) => {
      const { described, facts } = await probeRtsp(address, context)
      described.connection.close()
      return facts
    },
    presume: () => ({ ...UNKNOWN, kind: 'rtsp', video: 'H264', transport: 'tcp' }),
  },
  mpegts: unprobed(() => ({ ...UNKNOWN, kind: 'mpegts' })),
  rtmp: unprobed(() => ({ ...UNKNOWN, kind: 'rtmp', klv: false })),
  http: {
    probe: (address, _source, context) => probeHttp(address, context),
    presume: ({ path }) =>
      /\.m3u8(?:\?|$)/.test(path) ? { ...UNKNOWN, kind: 'http', http: 'hls', paced: true } : { ...UNKNOWN, kind: 'http', http: 'other' },
  },
  file: {
    probe: async (address, _source, { allowFiles }) => {
      checkFilesAllowed(allowFiles)
      await checkFile(address, allowFiles)
      return { ...UNKNOWN, kind: 'file', paced: true }
    },
    presume: (_address, _source, { allowFiles }) => {
      checkFilesAllowed(allowFiles)
      return { ...UNKNOWN, kind: 'file', paced: true }
    },
  },
  test: unprobed((address) => {
    const { fps, klv } = parseTestSource(address)
    return { ...UNKNOWN, kind: 'test', klv, frameRate: fps }
  }),
  v4l2: {
    probe: async (_address, source, { cameras, reencode = true, signal }) =>
      cameraFacts(source, await probeCamera(source.uri, { cameras, reencode, signal }), reencode),
    presume: async (_address, source, { cameras, reencode = true }) =>
      cameraFacts(source, await checkCamera(source.uri, { cameras, reencode }), reencode),
  },
}

/** The facts of an RTSP source, and the connection over which it described itself: the caller closes it. Throws Fault. */
export const probeRtsp = async (
  address: Address,
  context: ProbeContext,
): Promise<{ readonly described: Described; readonly facts: SourceFacts }> => {
  const described = await describeSource(address, context)
  try {
    const facts = factsOfSdp(described.sdp, described.address, context.transport)
    return { described, facts: { ...facts, ...redirection(address, described.address) } }
  } catch (error) {
    described.connection.close()
    throw error
  }
}

/** Probes what a source carries. Throws Fault: what is wrong with it and what to do. */
export const probeSource = (source: Source, context: ProbeContext): Promise<SourceFacts> => {
  const address = parseAddress(source.uri)
  return PROBES[kindOfSource(address)].probe(address, source, context)
}

/**
 * The facts of a source for a dry run: the usual case where only the source itself could answer; a camera that is attached must
 * offer what its address says. Throws Fault as probeSource does.
 */
export const presumeFacts = async (source: Source, context: DryRunContext): Promise<SourceFacts> => {
  const address = parseAddress(source.uri)
  return PROBES[kindOfSource(address)].presume(address, source, context)
}

const CAMERA_VIDEO: ReadonlyMap<string, string> = new Map([
  ['h264', 'H264'],
  ['h265', 'H265'],
  ['mjpeg', 'JPEG'],
])

/** A camera with unknown capabilities is presumed to send H.264 when its video is to be passed through. */
const cameraFacts = ({ uri }: Source, camera: CameraMode | undefined, reencode: boolean): SourceFacts => {
  const address = parseCameraAddress(uri)
  const encoding = camera?.kind ?? address.encoding ?? (reencode ? 'raw' : 'h264')
  const video = CAMERA_VIDEO.get(encoding) ?? null
  const frameRate = camera?.fps ?? address.fps ?? null
  return { kind: 'v4l2', video, klv: false, frameRate, paced: false, ...(camera && { camera }) }
}
