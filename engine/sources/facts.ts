import type { Address } from '../faults/address.ts'
import type { CameraMode } from './camera/mode.ts'
import type { SourceKind } from './schemes.ts'

/** The content of an HTTP source, by its content type and name. */
export type HttpContent = 'hls' | 'mpegts' | 'flv' | 'mjpeg' | 'other'

/** What is known of a source before its data flows. */
export interface SourceFacts {
  readonly kind: SourceKind
  /** RTP encoding name of the video in upper case (H264, H265, JPEG, VP8, MP2T …); null when it is known only from the data. */
  readonly video: string | null
  /** Whether there is a KLV track; null when it is known only from the data. */
  readonly klv: boolean | null
  /** RTP encoding name of the KLV track when it differs from that of RFC 6597. */
  readonly klvName?: string
  /** Frames per second, null when unknown. */
  readonly frameRate: number | null
  /** How RTSP carries the media. */
  readonly transport?: 'tcp' | 'udp'
  /** The transport protocol of the video in the session description where that is one that rtspsrc does not take (RTP/AVP/TCP). */
  readonly oddProtocol?: string
  readonly http?: HttpContent
  /** Where redirects led, of a source with credentials: its elements would send them wherever a redirect leads. */
  readonly redirectedTo?: Address
  /** The program of an MPEG-TS to be read; left out: the one whose map comes first. */
  readonly program?: number | undefined
  /** The mode the camera is to deliver; undefined when its capabilities are unknown. */
  readonly camera?: CameraMode
  /** A recording, which can be read faster than real time: the launch line paces it. */
  readonly paced: boolean
}
