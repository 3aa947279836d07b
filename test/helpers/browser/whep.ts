import type { Page } from 'playwright-core'

/** What a page has seen of a session by WebRTC. */
export interface Watched {
  readonly status: number
  readonly location: string | null
  readonly etag: string | null
  /** The answer, or the error. */
  readonly text: string
  /** Frames that were decoded, by kind of media also samples of sound that came. */
  readonly framesDecoded: number
  readonly soundSamples: number
  readonly size: readonly [width: number, height: number]
  /** RTP times of the frames that were shown, and of the KLV packets with the packets in hexadecimal. */
  readonly shown: readonly number[]
  readonly klv: readonly (readonly [time: number, packet: string])[]
}

/**
 * Plays a pipeline by WebRTC in a page of the service until `frames` are decoded, some are shown and `klv` packets came, and ends the session unless `stay` is set. What Chromium
 * does is what counts: nothing here knows how the service does it.
 */
export const watchByWebRtc = (page: Page, id: string, { frames = 30, klv = 0, stay = false } = {}): Promise<Watched> =>
  page.evaluate(
    async ({ id, frames, klv, stay }) => {
      const connection = new RTCPeerConnection()
      connection.addTransceiver('video', { direction: 'recvonly' })
      connection.addTransceiver('audio', { direction: 'recvonly' })
      const packets: [number, string][] = []
      const channel = connection.createDataChannel('klv')
      channel.binaryType = 'arraybuffer'
      channel.onmessage = ({ data }) => {
        const bytes = [...new Uint8Array(data, 4)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
        packets.push([new DataView(data).getUint32(0), bytes])
      }
      const video = document.body.appendChild(Object.assign(document.createElement('video'), { muted: true, autoplay: true }))
      const stream = new MediaStream()
      video.srcObject = stream
      connection.ontrack = ({ track }) => stream.addTrack(track)
      const shown: number[] = []
      const onFrame = (_now: number, metadata: VideoFrameCallbackMetadata): void => {
        shown.push(metadata.rtpTimestamp ?? -1)
        video.requestVideoFrameCallback(onFrame)
      }
      video.requestVideoFrameCallback(onFrame)
      await connection.setLocalDescription(await connection.createOffer())
      const body = connection.localDescription?.sdp ?? ''
      const response = await fetch(`/svc/pipeline/${id}/whep`, { method: 'POST', headers: { 'content-type': 'application/sdp' }, body })
      const answered = { status: response.status, location: response.headers.get('location'), etag: response.headers.get('etag') }
      const text = await response.text()
      const counts = async () => {
        const reports = [...(await connection.getStats()).values()].filter(({ type }) => type === 'inbound-rtp')
        const sum = (name: string): number => reports.reduce((total, report) => total + (report[name] ?? 0), 0)
        return { framesDecoded: sum('framesDecoded'), soundSamples: sum('totalSamplesReceived') }
      }
      if (response.status === 201) {
        await connection.setRemoteDescription({ type: 'answer', sdp: text })
        // A busy page shows few of the frames.
        const isMet = async () =>
          (await counts()).framesDecoded >= frames &&
          packets.length >= klv &&
          shown.length >= 6 &&
          (klv === 0 || packets.slice(-10).some(([time]) => shown.includes(time)))
        while (!(await isMet())) await new Promise((done) => setTimeout(done, 20))
      }
      const seen = {
        ...answered,
        text,
        ...(await counts()),
        size: [video.videoWidth, video.videoHeight] as [number, number],
        shown,
        klv: packets,
      }
      if (!stay && answered.location !== null) await fetch(answered.location, { method: 'DELETE' })
      if (!stay) connection.close()
      return seen
    },
    { id, frames, klv, stay },
  )
