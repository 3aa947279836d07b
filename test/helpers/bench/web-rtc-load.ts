/**
 * Players by WebRTC that only count what comes: web-rtc-load.ts WHEP_URL SESSIONS [open|churn]. Prints a JSON line five times a second:
 * { readers, bytes, opened }. `open`: all stay until SIGTERM; `churn`: each ends with its first packet, so many in all, and the program
 * with the last.
 */
import { PeerConnection, RtcpReceivingSession, type Track, Video } from 'node-datachannel'

const [url = '', count = '1', way = 'open'] = process.argv.slice(2)
const AT_ONCE = 8
const PAYLOAD = 96
let [bytes, readers, opened] = [0, 0, 0]

interface Player {
  /** The library has no other reference to it: without one, nothing comes after a collection of garbage. */
  readonly track: Track
  readonly end: () => Promise<void>
  readonly hasMedia: Promise<void>
}

const untilGathered = (connection: PeerConnection): Promise<void> =>
  new Promise((resolve) => connection.onGatheringStateChange((state) => state === 'complete' && resolve()))

const play = async (): Promise<Player> => {
  // Where the service is as near as here, the library may check a certificate before it has the fingerprint of the answer.
  const connection = new PeerConnection('player', { iceServers: [], disableAutoNegotiation: true, disableFingerprintVerification: true })
  const media = new Video('0', 'RecvOnly')
  media.addH264Codec(PAYLOAD, 'profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1')
  const track = connection.addTrack(media)
  track.setMediaHandler(new RtcpReceivingSession())
  const came = Promise.withResolvers<void>()
  let hasCome = false
  track.onMessage((packet) => {
    bytes += packet.length
    if (hasCome) return
    hasCome = true
    readers += 1
    came.resolve()
  })
  const gathered = untilGathered(connection)
  connection.setLocalDescription('offer')
  await gathered
  const body = connection.localDescription()?.sdp ?? ''
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/sdp' }, body })
  const sdp = await answer.text()
  if (answer.status !== 201) throw new Error(`${answer.status} ${sdp}`)
  connection.setRemoteDescription(sdp, 'answer')
  const session = new URL(answer.headers.get('location') ?? '', url)
  const end = async (): Promise<void> => {
    if (hasCome) readers -= 1
    await fetch(session, { method: 'DELETE' })
    connection.close()
  }
  return { track, end, hasMedia: came.promise }
}

const players: Player[] = []
let next = 0
const work = async (): Promise<void> => {
  while (next < Number(count)) {
    next += 1
    const player = await play()
    await player.hasMedia
    opened += 1
    if (way === 'churn') await player.end()
    else players.push(player)
  }
}

const print = (): void => console.log(JSON.stringify({ readers, bytes, opened }))
setInterval(print, 200)
process.on('SIGTERM', () => void Promise.all(players.map(({ end }) => end())).then(() => process.exit()))
await Promise.all(Array.from({ length: AT_ONCE }, work))
print()
if (way === 'churn') process.exit()
