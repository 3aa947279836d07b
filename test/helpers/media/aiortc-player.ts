import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'

const PLAYER = resolve(import.meta.dirname, '../../fixtures/webrtc/aiortc-player.py')
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/** What aiortc, a player in Python, has got of a session. */
interface PlayedByAiortc {
  readonly frames: readonly (readonly [rtpTime: number, number: number, width: number, height: number])[]
  readonly klv: readonly (readonly [rtpTime: number, hex: string])[]
  /** Frames of it. */
  readonly sound: number
}

/** Plays by WebRTC with aiortc until it has so many of each. */
export const playByAiortc = async (
  whep: string,
  { frames = 0, klv = 0, sound = 0 }: { readonly frames?: number; readonly klv?: number; readonly sound?: number },
): Promise<PlayedByAiortc> => {
  const args = [PLAYER, whep, ...[frames, klv, sound].map(String)]
  const { stdout } = await promisify(execFile)('/usr/bin/python3', args, { maxBuffer: MAX_OUTPUT_BYTES })
  return JSON.parse(stdout) as PlayedByAiortc
}
