import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { PeerConnection, Video } from 'node-datachannel'
import { pause } from '../../../lib/pause.ts'
import { mutate } from '../fuzz/mutate.ts'
import { createRandom } from '../random.ts'
import { bindingRequest } from './stun.ts'

/** Where WebRTC is served. */
interface WebRtcTarget {
  /** Of a pipeline with KLV. */
  readonly whep: string
  readonly host: string
  /** UDP. */
  readonly port: number
}

/** Attacks for so many milliseconds; answers how often it did. */
type Attack = (target: WebRtcTarget, ms: number) => Promise<number>

const OFFER = readFileSync(new URL('../../fixtures/webrtc/chromium-offer.sdp', import.meta.url), 'utf8')
/** Datagrams or messages of a flood: 10,000 a second, which leaves a processor for the one that is attacked. */
const BATCH = { size: 50, everyMs: 5 }
const SOCKETS = 8

const post = (whep: string, body: string): Promise<Response> =>
  fetch(whep, { method: 'POST', headers: { 'content-type': 'application/sdp' }, body })

const repeat = async (ms: number, act: (at: number) => void): Promise<number> => {
  const end = performance.now() + ms
  let count = 0
  while (performance.now() < end) {
    for (let at = 0; at < BATCH.size; at += 1) act(count++)
    await pause(BATCH.everyMs)
  }
  return count
}

/** Sends what `make` answers from several ports. */
const flood = async ({ host, port }: WebRtcTarget, ms: number, make: (at: number) => Buffer): Promise<number> => {
  const sockets = await Promise.all(Array.from({ length: SOCKETS }, openSocket))
  const count = await repeat(ms, (at) => sockets[at % SOCKETS]?.send(make(at), port, host))
  for (const socket of sockets) socket.close()
  return count
}

const openSocket = async (): Promise<Socket> => {
  const socket = createSocket('udp4')
  socket.bind(0)
  await once(socket, 'listening')
  return socket
}

/** A session of which only the offer and the answer exist. */
const beginSession = async (whep: string) => {
  const answer = await post(whep, OFFER)
  const sdp = await answer.text()
  if (answer.status !== 201) throw new Error(`${answer.status} ${sdp}`)
  const attributeOf = (text: string, name: string): string => new RegExp(`^a=${name}:(.*?)\r?$`, 'm').exec(text)?.[1] ?? ''
  return { user: `${attributeOf(sdp, 'ice-ufrag')}:${attributeOf(OFFER, 'ice-ufrag')}`, password: attributeOf(sdp, 'ice-pwd') }
}

/** A record of DTLS 1.2 (RFC 6347 section 4.1) of a random type with random content; sometimes its length is a lie. */
const dtlsRecord = (at: number): Buffer => {
  const content = randomBytes(1 + (at % 1100))
  const head = Buffer.from([20 + (at % 5), 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, at & 0xff, content.length >> 8, content.length & 0xff])
  if (at % 7 === 0) head.writeUInt16BE(0xffff, 11)
  return Buffer.concat([head, content])
}

/** A player of the library that has connected. */
const connectPlayer = async (whep: string) => {
  const connection = new PeerConnection('attacker', { iceServers: [], disableAutoNegotiation: true, disableFingerprintVerification: true })
  const media = new Video('0', 'RecvOnly')
  media.addH264Codec(96, 'profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1')
  const track = connection.addTrack(media)
  const channel = connection.createDataChannel('klv')
  const open = new Promise<void>((resolve) => channel.onOpen(resolve))
  const gathered = new Promise<void>((resolve) => connection.onGatheringStateChange((state) => state === 'complete' && resolve()))
  connection.setLocalDescription('offer')
  await gathered
  const answer = await post(whep, connection.localDescription()?.sdp ?? '')
  const sdp = await answer.text()
  if (answer.status !== 201) throw new Error(`${answer.status} ${sdp}`)
  connection.setRemoteDescription(sdp, 'answer')
  await open
  return { connection, channel, track }
}

/**
 * Floods in sessions of its own, one after the other: each is ended by the service, in the middle of a batch. The library then throws before
 * it says that the channel is closed.
 */
const floodSessions = async (
  { whep }: WebRtcTarget,
  ms: number,
  act: (player: Awaited<ReturnType<typeof connectPlayer>>, at: number) => void,
): Promise<number> => {
  let [end, count] = [Number.POSITIVE_INFINITY, 0]
  while (performance.now() < end) {
    const player = await connectPlayer(whep)
    // To connect takes long on a busy machine.
    end = Math.min(end, performance.now() + ms)
    let isOpen = true
    player.connection.onStateChange((state) => {
      isOpen &&= state === 'connected'
    })
    const acts = (): boolean => {
      try {
        act(player, count)
        count += 1
        return true
      } catch {
        return false
      }
    }
    while (isOpen && performance.now() < end) {
      for (let at = 0; at < BATCH.size && isOpen && player.channel.isOpen(); at += 1) isOpen &&= acts()
      await pause(BATCH.everyMs)
    }
    player.connection.close()
  }
  return count
}

const NACK = Buffer.from('81cd000300000001000000000000ffff', 'hex')

/** What a hostile player, or somebody who only reaches the port, can do. */
export const WEB_RTC_ATTACKS: Readonly<Record<string, Attack>> = {
  'noise at the port': (target, ms) => flood(target, ms, (at) => randomBytes(at % 1400)),
  'STUN of unknown users': (target, ms) => flood(target, ms, () => bindingRequest(`${randomBytes(4).toString('hex')}:user`, 'password')),
  'STUN of a session with a wrong password': async (target, ms) => {
    const { user } = await beginSession(target.whep)
    return flood(target, ms, () => bindingRequest(user, 'wrong'))
  },
  'garbage in place of DTLS and SRTP': async (target, ms) => {
    const { user, password } = await beginSession(target.whep)
    const request = bindingRequest(user, password)
    return flood(target, ms, (at) => {
      if (at < SOCKETS * 2) return request
      return at % 3 === 0 ? Buffer.concat([Buffer.from([0x80, 96]), randomBytes(at % 1200)]) : dtlsRecord(at)
    })
  },
  'offers that are damaged': async ({ whep }, ms) => {
    const { integer } = createRandom(1)
    const [end, original] = [performance.now() + ms, Buffer.from(OFFER)]
    let count = 0
    const offer = async (): Promise<void> => {
      while (performance.now() < end) {
        const body = mutate(original, original, (limit) => integer(Math.max(limit, 1))).toString('latin1')
        const answer = await post(whep, body)
        await answer.text()
        if (answer.status >= 500 && answer.status !== 503) throw new Error(`${answer.status} for ${JSON.stringify(body)}`)
        count += 1
      }
    }
    await Promise.all(Array.from({ length: 4 }, offer))
    return count
  },
  'sessions that never connect': async ({ whep }, ms) => {
    const end = performance.now() + ms
    let count = 0
    while (performance.now() < end) {
      const answers = await Promise.all(Array.from({ length: 4 }, () => post(whep, OFFER)))
      for (const answer of answers) await answer.text()
      count += answers.length
    }
    return count
  },
  'messages on a data channel': (target, ms) =>
    floodSessions(target, ms, ({ channel }) => void channel.sendMessageBinary(randomBytes(1000))),
  'data channels': (target, ms) => floodSessions(target, ms, ({ connection }, at) => void connection.createDataChannel(`more-${at}`)),
  RTCP: (target, ms) => floodSessions(target, ms, ({ track }) => void (track.isOpen() && track.sendMessageBinary(NACK))),
}
