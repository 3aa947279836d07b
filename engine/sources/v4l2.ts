import { type CameraAddress, parseCameraAddress } from './camera/address.ts'
import { CAMERA_ELEMENTS, cameraLine, isEncoded, presumedCameraLine } from './camera/launch-line.ts'
import type { CameraMode } from './camera/mode.ts'
import { checkCamera, probeCamera } from './camera/probe.ts'
import { type DryRunContext, type SourceFacts, type SourceKind, UNKNOWN } from './source-kind.ts'

interface CameraFacts extends SourceFacts {
  /** The mode that the camera is to deliver; left out when its capabilities are unknown. */
  readonly camera?: CameraMode
}

const VIDEO: ReadonlyMap<string, string> = new Map([
  ['h264', 'H264'],
  ['h265', 'H265'],
  ['mjpeg', 'JPEG'],
])

/** A camera with unknown capabilities is presumed to send H.264 when its video is to be passed through. */
const factsOf = (address: CameraAddress, camera: CameraMode | undefined, { reencode }: DryRunContext): CameraFacts => {
  const encoding = camera?.kind ?? address.encoding ?? (reencode ? 'raw' : 'h264')
  const frameRate = camera?.fps ?? address.fps ?? null
  return { ...UNKNOWN, video: VIDEO.get(encoding) ?? null, klv: false, frameRate, ...(camera && { camera }) }
}

export const v4l2: SourceKind<CameraFacts> = {
  elements: CAMERA_ELEMENTS,
  confidential: false,
  probe: async ({ uri }, context) => factsOf(parseCameraAddress(uri), await probeCamera(uri, context), context),
  presume: async ({ uri }, context) => factsOf(parseCameraAddress(uri), await checkCamera(uri, context), context),
  line: ({ uri }, { camera, video }) => {
    if (camera !== undefined) return { tokens: cameraLine(camera), ends: 'video', form: camera.kind === 'raw' ? 'raw' : 'parsed' }
    const address = parseCameraAddress(uri)
    const presumed = address.encoding === undefined && video === 'H264' ? { ...address, encoding: 'h264' } : address
    return { tokens: presumedCameraLine(presumed), ends: 'video', form: isEncoded(presumed.encoding) ? 'parsed' : 'raw' }
  },
  reach: ({ uri }, { camera }) => ({ devices: [camera?.device_path ?? parseCameraAddress(uri).device_path] }),
  onReturn: ({ cameras }, callback) =>
    cameras?.onChange(({ type }) => {
      if (type === 'camera_added') callback()
    }) ?? (() => {}),
}
