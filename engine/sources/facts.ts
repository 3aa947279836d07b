import type { CameraMode } from './camera/mode.ts'

export type SourceKind = 'rtsp' | 'mpegts' | 'rtmp' | 'http' | 'file' | 'test' | 'v4l2'

/** What is behind an HTTP address, by its content type and name. */
export type HttpContent = 'hls' | 'mpegts' | 'mjpeg' | 'other'

/** What is at a source address, as far as it can be known before data flows. */
export interface SourceFacts {
  readonly kind: SourceKind
  /** RTP encoding name of the video in upper case (H264, H265, JPEG, VP8, MP2T …); null when only the data tells. */
  readonly video: string | null
  /** Whether there is a KLV track; null when only the data tells. */
  readonly klv: boolean | null
  /** RTP encoding name of the KLV track where it is not that of RFC 6597. */
  readonly klvName?: string
  /** Frames per second, null when unknown. */
  readonly frameRate: number | null
  /** How RTSP carries the media. */
  readonly transport?: 'tcp' | 'udp'
  readonly http?: HttpContent
  /** What the camera is to deliver; undefined when nobody could ask it. */
  readonly camera?: CameraMode
  /** A recording: it would come as fast as it can be read, so the launch line paces it. */
  readonly paced: boolean
}
