import { ApiError, api, reasonOf } from '../api/api.ts'
import { whenHidden } from '../api/follow.ts'
import { whyNoDecoders } from '../screens/ways.ts'
import type { Sound } from '../sound/sound.ts'
import { type OfferedSession, offerSession, takeSession, type WantedTracks } from './offered-session.ts'
import type { Excluded, StageOptions } from './stage.ts'

interface SessionOptions extends StageOptions {
  readonly id: string
  /** Plays the sound; undefined: without. */
  readonly sound?: Sound | undefined
  readonly onKlv?: ((timestamp: number, packet: Uint8Array) => void) | undefined
  readonly signal: AbortSignal
}

/** Without a picture this long after the answer, UDP does not reach the service; milliseconds. */
const PICTURE_MS = 4000
/** A connection that is disconnected may come back by itself until then, milliseconds. */
const AWAY_MS = 3000
/** What the service answers when another session, or none at all, is possible. */
const REFUSALS: ReadonlySet<number> = new Set([406, 501, 503])

/**
 * Plays by WebRTC until the signal aborts, the tab is hidden or the connection is lost. Where it does not work at all, it is excluded,
 * and a next attempt takes another way. Throws what the service answers otherwise.
 */
export const playByWebRtc = async (options: SessionOptions, excluded: Excluded, onData: () => void): Promise<void> => {
  const { id, signal, surfaces, sound, onKlv } = options
  const attempt = new AbortController()
  const end = (): void => attempt.abort()
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  const stopWatching = whenHidden(end)
  const wanted = { hasKlv: onKlv !== undefined, hasSound: sound !== undefined }
  const { connection, track, audio, klv, answered } = await offer(id, wanted, attempt.signal)
  const timeOf = createRtpTimes()
  let session: string | undefined
  let stopSound = (): void => {}
  const endSession = async (): Promise<void> => {
    const ended = session
    session = undefined
    // Where nothing answers, the service notices by itself.
    if (ended !== undefined) await api.endSession({ id, session: ended }).catch(() => {})
  }
  // Of a page that is being left, nothing else is sent.
  addEventListener('pagehide', () => void endSession(), { signal: attempt.signal })
  try {
    if (klv !== undefined && onKlv !== undefined)
      klv.onmessage = ({ data }) => onKlv(timeOf(new DataView(data).getUint32(0)), new Uint8Array(data, 4))
    surfaces.video.srcObject = new MediaStream([track])
    const answer = await answered
    session = answer.headers.get('location')?.split('/').at(-1)
    if (attempt.signal.aborted) return
    // The service takes sound that WebRTC carries alone.
    if (audio?.currentDirection === 'recvonly') {
      surfaces.video.srcObject = new MediaStream([track, audio.receiver.track])
      stopSound = sound?.attach(surfaces.video, meterOf(audio.receiver)) ?? stopSound
    }
    options.onChoice({ way: 'webrtc', why: whyNoDecoders() ?? '' })
    // A page may play video without sound; when the browser refuses, the picture stands still.
    surfaces.video.play().catch(() => {})
    const codec = connection.remoteDescription?.sdp.includes('H265/90000') === true ? 'hvc1' : 'avc1'
    if (!(await watch(connection, { ...options, codec, timeOf, onData }, attempt.signal)))
      excluded.set('webrtc', 'no picture comes by WebRTC, whose UDP port may be blocked')
  } catch (error) {
    if (attempt.signal.aborted) return
    if (!isRefusal(error)) throw error
    excluded.set('webrtc', `WebRTC is refused: ${error.message}`)
  } finally {
    stopWatching()
    signal.removeEventListener('abort', end)
    attempt.abort()
    stopSound()
    surfaces.video.srcObject = null
    // Closed first, the service would not know the session any more.
    void endSession().finally(() => connection.close())
  }
}

/** The level of the sound by the newest statistics: sources name it only where they negotiate a header extension for it. */
const meterOf = (receiver: RTCRtpReceiver): (() => number) => {
  let level = 0
  let asked = false
  const ask = async (): Promise<void> => {
    const reports = (await receiver.getStats()) as ReadonlyMap<string, { readonly type: string; readonly audioLevel?: number }>
    for (const { type, audioLevel } of reports.values()) if (type === 'inbound-rtp') level = audioLevel ?? 0
  }
  return () => {
    if (!asked) {
      asked = true
      // A closed connection has none.
      void ask()
        .catch(() => {})
        .finally(() => {
          asked = false
        })
    }
    return level
  }
}

const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && (REFUSALS.has(error.status) || reasonOf(error) === 'codec')

/** The session that was offered before the page had its scripts, if the service accepts it, or a new one. */
const offer = async (id: string, wanted: WantedTracks, signal: AbortSignal): Promise<OfferedSession> => {
  const found = takeSession(id)
  if (found !== undefined) {
    const isAccepted = await found.answered.then(
      ({ status }) => status === 201,
      () => false,
    )
    if (isAccepted) return found
    // There may be video by now; otherwise the new one is refused too, and the page says why.
    found.connection.close()
  }
  return offerSession(wanted, (body) => api.beginSession({ id, body, signal }))
}

/** RTP times, which have 32 bits, as numbers that go on when those begin anew. */
const createRtpTimes = (): ((time: number) => number) => {
  let last: number | undefined
  return (time) => {
    last = last === undefined ? time : last + ((time - last) | 0)
    return last
  }
}

interface Watching extends SessionOptions {
  readonly codec: string
  readonly timeOf: (rtp: number) => number
  readonly onData: () => void
}

/** Resolves when the connection has ended: whether a picture has come. */
const watch = (connection: RTCPeerConnection, options: Watching, signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    const { surfaces, codec, timeOf, onData, onConfig, onFault, onPicture } = options
    const { video } = surfaces
    let shown = false
    let ended = false
    let size = ''
    const finish = (): void => {
      ended = true
      clearTimeout(timer)
      // A page that was left has not waited long enough.
      resolve(shown || signal.aborted)
    }
    let timer = setTimeout(finish, PICTURE_MS)
    signal.addEventListener('abort', finish)
    connection.onconnectionstatechange = () => {
      const state = connection.connectionState
      if (state === 'failed' || state === 'closed') finish()
      if (!shown) return
      clearTimeout(timer)
      if (state === 'disconnected') timer = setTimeout(finish, AWAY_MS)
    }
    const onFrame: VideoFrameRequestCallback = (now, { width, height, receiveTime, rtpTimestamp }) => {
      if (ended) return
      if (!shown) clearTimeout(timer)
      shown = true
      onData()
      if (size !== `${width}×${height}`) onConfig({ codec, codedWidth: width, codedHeight: height })
      size = `${width}×${height}`
      onFault(undefined)
      onPicture(receiveTime === undefined ? null : Math.max(0, now - receiveTime), rtpTimestamp === undefined ? null : timeOf(rtpTimestamp))
      video.requestVideoFrameCallback(onFrame)
    }
    video.requestVideoFrameCallback(onFrame)
  })
