/** A session by WebRTC that has been offered to the service. */
export interface OfferedSession {
  readonly connection: RTCPeerConnection
  readonly track: MediaStreamTrack
  /** Of the sound, which the service may leave out. */
  readonly audio: RTCRtpTransceiver | undefined
  readonly klv: RTCDataChannel | undefined
  /** What the service answered, as soon as the connection has it. */
  readonly answered: Promise<Response>
}

declare global {
  interface Window {
    /** Of one pipeline, offered by the first script of the page. */
    prefetchedSession?: { readonly id: string; readonly session: OfferedSession } | undefined
  }
}

/** The session that was offered before other scripts came, if it is of this pipeline. */
export const takeSession = (id: string): OfferedSession | undefined => {
  const found = window.prefetchedSession
  if (found?.id !== id) return undefined
  window.prefetchedSession = undefined
  return found.session
}

/** What a session takes beside the video. */
export interface WantedTracks {
  readonly hasKlv: boolean
  readonly hasSound: boolean
}

/** Offers to take the video, and sound and KLV with it, by a request whose body is the offer. */
export const offerSession = ({ hasKlv, hasSound }: WantedTracks, request: (offer: string) => Promise<Response>): OfferedSession => {
  const connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' })
  const { receiver } = connection.addTransceiver('video', { direction: 'recvonly' })
  const audio = hasSound ? connection.addTransceiver('audio', { direction: 'recvonly' }) : undefined
  const klv = hasKlv ? connection.createDataChannel('klv') : undefined
  if (klv !== undefined) klv.binaryType = 'arraybuffer'
  const negotiate = async (): Promise<Response> => {
    const hasPorts = untilPorts(connection)
    await connection.setLocalDescription()
    await hasPorts
    const answer = await request(connection.localDescription?.sdp ?? '')
    if (answer.status === 201 && connection.signalingState !== 'closed')
      await connection.setRemoteDescription({ type: 'answer', sdp: await answer.text() })
    return answer
  }
  return { connection, track: receiver.track, audio, klv, answered: negotiate() }
}

/** The ports of this computer come within a few milliseconds; that all is gathered, after 130. */
const PORTS_MS = { first: 50, further: 3 }

/** With its ports, the service reaches the browser before the answer does. */
const untilPorts = (connection: RTCPeerConnection): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, PORTS_MS.first)
    connection.onicecandidate = () => setTimeout(resolve, PORTS_MS.further)
  })
