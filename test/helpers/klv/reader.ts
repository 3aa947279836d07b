import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readBerLength } from '../../../lib/st0601/ber.ts'
import { KEY_LENGTH } from '../../../lib/st0601/packet.ts'
import { toHex } from '../../fixtures/klv/hex.ts'

const run = promisify(execFile)

/** Reads KLV packets from an RTSP address with GStreamer; returns each as hexadecimal text. */
export const gstKlv = async (url: string, packets: number, protocols: 'tcp' | 'udp' = 'tcp'): Promise<readonly string[]> => {
  const line = `rtspsrc location=${url} latency=50 protocols=${protocols} ! application/x-rtp,media=application ! rtpklvdepay ! identity eos-after=${packets + 1} ! fdsink fd=1`
  const options = { timeout: 20_000 + packets * 200, encoding: 'buffer', maxBuffer: 16 * 1024 * 1024, killSignal: 'SIGKILL' } as const
  try {
    return splitPackets((await run('gst-launch-1.0', ['-q', ...line.split(' ')], options)).stdout)
  } catch (error) {
    // rtspsrc sends TEARDOWN at EOS, and sometimes PAUSE on the connection closed by then: an error after all packets were read.
    const { stdout } = error as { stdout?: Buffer }
    const read = stdout === undefined ? [] : splitPackets(stdout)
    if (read.length < packets) throw error
    return read
  }
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

/** Splits a sequence of universal sets. */
const splitPackets = (bytes: Buffer): readonly string[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const packets: string[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = readBerLength(view, at + KEY_LENGTH, bytes.length)
    if (typeof length === 'string') throw new Error(`No packet at ${at} of ${bytes.length}`)
    packets.push(toHex(bytes.subarray(at, length.next + length.value)))
    at = length.next + length.value
  }
  return packets
}
