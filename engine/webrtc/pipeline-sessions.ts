import { randomBytes } from 'node:crypto'
import { ApiError } from '../../lib/errors.ts'
import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import type { MediaFormats } from '../formats/media-formats.ts'
import { type Admitted, type LiveAdmission, notPlaying } from '../live/admission.ts'
import type { RtpCaps } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { formatAnswer, PLAYOUT_DELAY, sharesTransport } from './answer.ts'
import { type Chosen, chooseData, chooseSound, chooseVideo, requireOrder } from './choose-codecs.ts'
import { fragmentCandidates, type Offer, type OfferedMedia, parseOffer } from './offer.ts'
import { ownCandidates } from './own-candidates.ts'
import type { ConnectPeer } from './peer.ts'
import type { SentTrack } from './rtp-sink.ts'
import { Session, type SessionMedia } from './session.ts'
import { unitPackets } from './unit-packets.ts'
import type { WebRtc } from './web-rtc.ts'

interface SessionsParts {
  readonly config: () => Pick<PipelineConfig, 'id'>
  readonly admission: LiveAdmission
  readonly media: MediaFormats
  readonly webRtc: WebRtc
}

/** The answer to an offer. */
interface OpenedSession {
  readonly session: string
  readonly etag: string
  readonly answer: string
}

/** What is sent of what a pipeline has. */
interface Agreed {
  readonly video: Chosen & { readonly caps: RtpCaps }
  readonly sound: (Chosen & { readonly stream: RtpStream; readonly caps: RtpCaps }) | undefined
  readonly data: OfferedMedia | undefined
}

interface Known {
  readonly session: Session
  readonly offer: Offer
}

/** The players of one pipeline by WebRTC. */
export class PipelineSessions {
  readonly #parts: SessionsParts
  readonly #sessions = new Map<string, Known>()

  constructor(parts: SessionsParts) {
    this.#parts = parts
  }

  /**
   * Answers an offer of a player, from its `address` if that is known. VALIDATION_ERROR, NOT_ACCEPTABLE with what the offer would need, NOT_IMPLEMENTED without WebRTC,
   * SERVICE_UNAVAILABLE session_limit or webrtc_port, and what Admission throws.
   */
  async open(sdp: string, { waits, address }: { readonly waits: boolean; readonly address: string | undefined }): Promise<OpenedSession> {
    const { webRtc, admission } = this.#parts
    const offer = parseOffer(sdp, address)
    const connect = await webRtc.load()
    const { connected, leave } = webRtc.enter()
    const left = new AbortController()
    const end = (): void => {
      left.abort()
      leave()
    }
    try {
      const admitted = await admission.admit(left.signal, { waits })
      return await this.#begin(offer, admitted, { connect, connected, end })
    } catch (error) {
      end()
      throw error
    }
  }

  /** Adds candidates that come after the offer. `ifMatch`: as the client sent it. */
  addCandidates(
    id: string,
    { fragment, address }: { readonly fragment: string; readonly address: string | undefined },
    ifMatch: string | null,
  ): void {
    const { session, offer } = this.#find(id)
    if (ifMatch === null) throw conditionMissing()
    if (ifMatch !== '*' && !ifMatch.split(',').some((tag) => tag.trim() === session.etag)) throw conditionFailed()
    session.addCandidates(fragmentCandidates(fragment, offer.ufrag, address))
  }

  close(id: string): void {
    this.#find(id).session.end('deleted')
  }

  #find(id: string): Known {
    const known = this.#sessions.get(id)
    if (known === undefined) throw noSession(this.#parts.config().id)
    return known
  }

  async #begin(
    offer: Offer,
    admitted: Admitted,
    { connect, connected, end }: { readonly connect: ConnectPeer; readonly connected: () => void; readonly end: () => void },
  ): Promise<OpenedSession> {
    const { webRtc, config } = this.#parts
    const agreed = this.#agree(offer)
    const session: Session = new Session({
      pipelineId: config().id,
      admitted,
      log: webRtc.log,
      onConnected: connected,
      onEnd: () => {
        this.#sessions.delete(session.id)
        end()
      },
    })
    try {
      const peer = await webRtc.connect(connect, { ...offer, hasData: agreed.data !== undefined }, session)
      session.attach(peer, this.#mediaOf(agreed))
      const candidates = await ownCandidates(peer.local.candidates, webRtc.hosts, webRtc.port)
      this.#sessions.set(session.id, { session, offer })
      return { session: session.id, etag: session.etag, answer: this.#answer(offer, agreed, { local: peer.local, candidates }) }
    } catch (error) {
      session.end('failed')
      throw error
    }
  }

  #agree(offer: Offer): Agreed {
    const { media, config } = this.#parts
    const { caps } = media.video
    if (caps === undefined) throw notPlaying(config().id)
    const video = { ...chooseVideo(offer, caps), caps }
    requireOrder(media.video, media.reordered)
    return { video, sound: this.#agreeSound(offer, video), data: this.#agreeData(offer, video) }
  }

  /** Refused where no KLV is passed on: a channel would stay silent. */
  #agreeData(offer: Offer, video: Chosen): OfferedMedia | undefined {
    const data = this.#parts.media.klv === undefined ? undefined : chooseData(offer)
    return sharesTransport(offer, data, video.media) ? data : undefined
  }

  #agreeSound(offer: Offer, video: Chosen): Agreed['sound'] {
    const stream = this.#parts.media.soundStream
    const caps = stream?.caps
    const chosen = caps && chooseSound(offer, caps)
    if (stream === undefined || caps === undefined || chosen === undefined) return undefined
    return sharesTransport(offer, chosen.media, video.media) ? { ...chosen, stream, caps } : undefined
  }

  #mediaOf({ video, sound, data }: Agreed): SessionMedia {
    const { media } = this.#parts
    // Without sound, pictures are shown at once; with it, the player has to delay them as it does the sound.
    const delayExtension = sound === undefined ? video.media.extensions.get(PLAYOUT_DELAY) : undefined
    return {
      hasData: data !== undefined,
      streams: [media.video, data && media.klv, sound?.stream],
      tracks: [
        { ...sentTrack(media.video, video), delayExtension },
        undefined,
        sound && { ...sentTrack(sound.stream, sound), liveOnly: true },
      ],
    }
  }

  #answer(offer: Offer, { video, sound, data }: Agreed, own: Pick<Parameters<typeof formatAnswer>[1], 'local' | 'candidates'>): string {
    return formatAnswer(offer, {
      ...own,
      sessionId: String(randomBytes(6).readUIntBE(0, 6)),
      video: { ...video, ssrc: this.#parts.media.video.ssrc },
      sound: sound && { ...sound, ssrc: sound.stream.ssrc },
      data,
    })
  }
}

const sentTrack = (stream: RtpStream, { codec, caps }: Chosen & { readonly caps: RtpCaps }): SentTrack => ({
  ssrc: stream.ssrc,
  payloadType: codec.payload,
  packets: unitPackets(stream, caps.encodingName),
})

const noSession = (id: string): ApiError =>
  new ApiError('NOT_FOUND', `The pipeline "${id}" has no such session, or no longer. Begin another one.`, { reason: 'no_session' })

const conditionMissing = (): ApiError =>
  new ApiError('PRECONDITION_REQUIRED', 'Send the ETag of the session, which came with its 201, as If-Match.')

const conditionFailed = (): ApiError =>
  new ApiError('PRECONDITION_FAILED', 'The session has another ETag. Send the one that came with its 201 as If-Match.')
