import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Fault } from '../../../engine/faults/fault.ts'
import { classifyEnd } from '../../../engine/gst/bus-errors.ts'
import { startChild } from '../../../engine/gst/child.ts'
import { MediaPipe } from '../../../engine/ingest/media-pipe.ts'
import type { Launch } from '../../../engine/launch/launch.ts'
import { createPlanner, type Plan } from '../../../engine/launch/plan.ts'
import type { RtpCaps } from '../../../engine/rtp/caps.ts'
import type { Encoding, SimpleConfig } from '../../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../../lib/schema/settings.ts'

export const configure = (uri: string, encoding: Encoding | null): SimpleConfig => ({
  id: 'cam-1',
  mode: 'simple',
  on_demand: false,
  output: null,
  klv_config: { pass_klv: false, auto_extract_geolocation: false, synchronous: false },
  audio: 'off',
  audio_bitrate: null,
  push: [],
  ephemeral: false,
  source: { uri, latency_ms: 0 },
  encoding,
})

/** Its history holds for one test file. */
const planner = createPlanner({ allowFiles: true })
const SETTINGS: Settings = { ...DEFAULT_SETTINGS, encoder: { ...DEFAULT_SETTINGS.encoder, preference: 'software' } }

/** The launch of a child that itself reads the source; throws the fault of its probe. */
export const plan = async (uri: string, encoding: Encoding | null = null, previousFault?: Fault): Promise<Launch> => {
  const attempt = { signal: new AbortController().signal, timeoutMs: 10_000, previousFault }
  return launchOf(await probe(() => planner.plan(configure(uri, encoding), SETTINGS, attempt)))
}

const PROBES = 20

/** gst-rtsp-server answers 503 while it takes down what it played for its last reader: a play would try again, and so does this. */
export const probe = async <Found>(ask: () => Promise<Found>): Promise<Found> => {
  for (let left = PROBES; ; left -= 1) {
    try {
      return await ask()
    } catch (error) {
      if (left === 0 || !(error instanceof Error) || !error.message.includes('(503)')) throw error
      await setTimeout(100)
    }
  }
}

/** The launch of a plan for a child that reads the source itself. */
export const launchOf = (planned: Plan): Launch => {
  if ('launch' in planned && planned.source === undefined && planned.body === undefined) return planned.launch
  const open = 'container' in planned ? planned.container : planned
  if ('source' in open) open.source?.described.connection.close()
  if ('stream' in open) open.stream.destroy()
  if ('body' in open) open.body?.stream.destroy()
  throw new Error('The engine reads the source')
}

interface Played {
  /** Caps by payloader. */
  readonly caps: ReadonlyMap<string, RtpCaps>
  /** Of the first stream. */
  readonly firstPacket: Buffer
}

/** Runs a launch line until caps and a packet of these payloaders have come; throws the fault when the child ends before. */
export const play = async (launch: Launch, payloaders: readonly string[] = ['pay0']): Promise<Played> => {
  const child = startChild('gst-launch-1.0', ['-v', ...launch.args], { mediaPipes: launch.streams.length, reach: 'host' })
  const caps = new Map<string, RtpCaps>()
  const firsts = new Map<string, Buffer>()
  let stderr = ''
  child.stdout.resume()
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const { promise: complete, resolve } = Promise.withResolvers<void>()
  for (const [at, { payloader }] of launch.streams.entries()) {
    const pipe = new MediaPipe({
      setCaps: (found) => caps.set(payloader, found),
      ingestPacket: (packet) => {
        if (!firsts.has(payloader)) firsts.set(payloader, packet)
        if (payloaders.every((name) => caps.has(name) && firsts.has(name))) resolve()
      },
    })
    child.media[at]?.on('data', (chunk: Buffer) => pipe.ingest(chunk))
  }
  try {
    const ended = child.ended.then((end) => {
      throw classifyEnd(end, stderr.split('\n'))
    })
    await Promise.race([complete, ended])
    return { caps, firstPacket: firsts.get(launch.streams[0]?.payloader ?? '') ?? Buffer.alloc(0) }
  } finally {
    child.kill('SIGKILL')
    await child.ended
  }
}

export const H264: Encoding = { codec: 'h264', bitrate: 500, width: 320, height: 180, fps: 10, quality: 1 }

/** Runs a sender with gst-launch-1.0; returns the function that stops it. */
export const send = (description: string): (() => Promise<void>) => {
  const child = spawn('gst-launch-1.0', ['-q', ...description.split(' ')], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  return async () => {
    child.kill('SIGKILL')
    await exited
  }
}

export const PICTURES = 'video/x-raw,format=I420,width=320,height=180,framerate=25/1'
export const TS = {
  H264: `videotestsrc is-live=true ! ${PICTURES} ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=10 ! h264parse ! mpegtsmux alignment=7`,
  H265: `videotestsrc is-live=true ! ${PICTURES} ! x265enc tune=zerolatency speed-preset=ultrafast key-int-max=10 ! h265parse config-interval=-1 ! mpegtsmux alignment=7`,
}
