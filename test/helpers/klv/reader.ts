import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { readBerLength } from '../../../lib/st0601/ber.ts'
import { KEY_LENGTH } from '../../../lib/st0601/packet.ts'
import { toHex } from '../../fixtures/klv/hex.ts'

/**
 * Reads KLV packets from an RTSP address with GStreamer; returns each as hexadecimal text. It takes the video too: rtspsrc gives up while the only
 * track that came is not linked, which it is where a picture comes well before the first packet of KLV.
 */
export const gstKlv = async (url: string, packets: number, protocols: 'tcp' | 'udp' = 'tcp'): Promise<readonly string[]> => {
  const track = (media: string, rest: string): string => `s. ! application/x-rtp,media=${media} ! ${rest}`
  const sinks = [track('application', 'rtpklvdepay ! fdsink fd=1 async=false'), track('video', 'fakesink async=false')].join(' ')
  const line = `rtspsrc name=s location=${url} latency=50 protocols=${protocols} ${sinks}`
  const timeout = 20_000 + packets * 200
  const child = spawn('gst-launch-1.0', ['-q', ...line.split(' ')], { stdio: ['ignore', 'pipe', 'pipe'], timeout, killSignal: 'SIGKILL' })
  const errors = text(child.stderr)
  let bytes = Buffer.alloc(0)
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    bytes = Buffer.concat([bytes, chunk])
    const read = splitPackets(bytes)
    if (read.length < packets) continue
    child.kill('SIGKILL')
    return read.slice(0, packets)
  }
  throw new Error(`${splitPackets(bytes).length} of ${packets} packets of KLV came from ${url}\n${await errors}`)
}

/** Reads the data track of an RTSP address with ffmpeg for some seconds. ffmpeg 5.1 copies its bytes without decoding them. */
export const ffmpegKlv = async (url: string, seconds: number): Promise<readonly string[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'klv-'))
  try {
    const arguments_ = [
      '-v',
      'error',
      '-rtsp_transport',
      'tcp',
      '-i',
      url,
      '-t',
      String(seconds),
      '-map',
      '0:d',
      '-c',
      'copy',
      '-f',
      'data',
    ]
    const child = spawn('ffmpeg', [...arguments_, join(folder, 'klv')], { stdio: 'ignore', timeout: 30_000, killSignal: 'SIGKILL' })
    await once(child, 'exit')
    return splitPackets(await readFile(join(folder, 'klv')))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The whole packets of a sequence of universal sets. */
const splitPackets = (bytes: Buffer): readonly string[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const packets: string[] = []
  for (let at = 0; ; ) {
    const length = readBerLength(view, at + KEY_LENGTH, bytes.length)
    if (length === 'malformed') throw new Error(`No packet at ${at} of ${bytes.length}`)
    if (length === 'truncated' || length.next + length.value > bytes.length) return packets
    packets.push(toHex(bytes.subarray(at, length.next + length.value)))
    at = length.next + length.value
  }
}
