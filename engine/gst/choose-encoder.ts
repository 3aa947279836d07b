import type { Codec } from '../../lib/schema/pipeline.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import { Fault } from '../faults/fault.ts'
import { codecDevices } from '../sandbox/device-nodes.ts'
import { gstreamerMissing, notStarted } from './bus-errors.ts'
import type { runToEnd } from './child.ts'
import { chain, element, toArguments } from './element.ts'
import { ENCODERS, type Encoder } from './encoder-table.ts'

type Run = typeof runToEnd

const PROBE_MS = 5000

/**
 * Whether the host's GStreamer has an element. Fault engine_missing without GStreamer; a transient one when an overloaded host
 * does not answer in time, as while all pipelines start: an installed element must not count as missing.
 */
export const hasElement = async (name: string, run: Run): Promise<boolean> => {
  const { exitCode, missing, refused } = await run('gst-inspect-1.0', ['--exists', name], { timeoutMs: PROBE_MS, reach: {} })
  if (missing) throw gstreamerMissing()
  if (refused !== undefined) throw notStarted(refused)
  if (exitCode === null)
    throw new Fault('timeout', `GStreamer did not answer within ${PROBE_MS / 1000} s whether it has ${name}. The host is overloaded.`)
  return exitCode === 0
}

/**
 * Whether an encoder outputs a frame: a hardware encoder may exist and still fail, because of its driver. Undefined: it did not
 * end in time, and may do so next time.
 */
export const canEncode = async (encoder: Encoder, run: Run): Promise<boolean | undefined> => {
  const line = chain(
    element('videotestsrc', { 'num-buffers': 8 }),
    [`video/x-raw,format=${encoder.pixelFormat},width=640,height=360,framerate=30/1`],
    encoder.tokens({ bitrate: 1000, quality: 7, keyInterval: 60 }),
    [`video/x-${encoder.codec}`],
    // stdout is a socket here, and opening /dev/stdout would fail with ENXIO.
    element('fdsink', { fd: 1 }),
  )
  const { exitCode, stdout, refused } = await run('gst-launch-1.0', ['-q', '--', ...toArguments(line)], {
    timeoutMs: PROBE_MS,
    reach: { devices: encoder.hardware ? codecDevices() : [] },
  })
  if (exitCode === null || refused !== undefined) return undefined
  return exitCode === 0 && stdout.length > 0
}

const works = async (encoder: Encoder, run: Run): Promise<boolean | undefined> => {
  if (!(await hasElement(encoder.name, run))) return false
  return encoder.hardware ? canEncode(encoder, run) : true
}

type Preference = EngineSettings['encoder']['preference']

const ALLOWED = {
  auto: () => true,
  software: (encoder) => !encoder.hardware,
  hardware: (encoder) => encoder.hardware,
} as const satisfies Record<Preference, (encoder: Encoder) => boolean>

const missing = (codec: Codec, candidates: readonly Encoder[], preference: Preference): Fault => {
  const name = codec === 'h264' ? 'H.264' : 'H.265'
  const packages = [...new Set(candidates.map((encoder) => encoder.aptPackage))].join(' or ')
  const advice =
    preference === 'hardware'
      ? `No hardware encoder for ${name} works on this host. Install a driver (${packages}), or set encoder.preference to auto in the settings.`
      : `No encoder for ${name} is installed. Install one: apt-get install ${packages}`
  return new Fault('missing_element', advice)
}

/** `sure`: no better one was passed over only because the host was overloaded. */
interface Choice {
  readonly encoder: Encoder
  readonly sure: boolean
}

const findEncoder = async (codec: Codec, preference: Preference, run: Run): Promise<Choice> => {
  const candidates = ENCODERS.filter((encoder) => encoder.codec === codec && ALLOWED[preference](encoder))
  let sure = true
  for (const encoder of candidates) {
    const answer = await works(encoder, run)
    if (answer === true) return { encoder, sure }
    sure &&= answer === false
  }
  throw missing(codec, preference === 'auto' ? candidates.filter((encoder) => !encoder.hardware) : candidates, preference)
}

// Found encoders are kept for the life of the process; missing ones, and those that did not end in time, are searched again.
const searches = new WeakMap<Run, Map<string, Promise<Choice>>>()

/** The best encoder that works on this host. Fault missing_element names the apt package. */
export const chooseEncoder = async (codec: Codec, preference: Preference, run: Run): Promise<Encoder> => {
  const known = searches.get(run) ?? new Map<string, Promise<Choice>>()
  searches.set(run, known)
  const key = `${codec} ${preference}`
  const search = known.get(key) ?? findEncoder(codec, preference, run)
  known.set(key, search)
  const choice = await search.catch((error: unknown) => {
    known.delete(key)
    throw error
  })
  if (!choice.sure) known.delete(key)
  return choice.encoder
}
