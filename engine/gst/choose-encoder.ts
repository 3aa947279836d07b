import type { Codec } from '../../lib/schema/pipeline.ts'
import type { Settings } from '../../lib/schema/settings.ts'
import { Fault } from '../fault.ts'
import { codecNodes, graphicsNodes } from '../sandbox/device-nodes.ts'
import { gstreamerMissing } from './bus-errors.ts'
import type { runToEnd } from './child.ts'
import { chain, element, toArguments } from './element.ts'
import { ENCODERS, type Encoder } from './encoder-table.ts'

type Run = typeof runToEnd

const PROBE_MS = 5000

/** The device nodes that an encoder works over. */
const encoderNodes = ({ hardware }: Encoder): readonly string[] => (hardware ? [...graphicsNodes(), ...codecNodes()] : [])

/** Whether the host's GStreamer has an element. Fault engine_missing without GStreamer. */
export const hasElement = async (name: string, run: Run): Promise<boolean> => {
  const { exitCode, missing } = await run('gst-inspect-1.0', ['--exists', name], { timeoutMs: PROBE_MS, reach: {} })
  if (missing) throw gstreamerMissing()
  return exitCode === 0
}

/** Whether an encoder outputs a frame: a hardware encoder may exist and still fail, because of its driver. */
export const canEncode = async (encoder: Encoder, run: Run): Promise<boolean> => {
  const line = chain(
    element('videotestsrc', { 'num-buffers': 8 }),
    [`video/x-raw,format=${encoder.pixelFormat},width=640,height=360,framerate=30/1`],
    encoder.words({ bitrate: 1000, quality: 7, keyInterval: 60 }),
    [`video/x-${encoder.codec}`],
    // stdout is a socket here, and opening /dev/stdout would fail with ENXIO.
    element('fdsink', { fd: 1 }),
  )
  const { exitCode, stdout } = await run('gst-launch-1.0', ['-q', '--', ...toArguments(line)], {
    timeoutMs: PROBE_MS,
    reach: { devices: encoderNodes(encoder) },
  })
  return exitCode === 0 && stdout.length > 0
}

const works = async (encoder: Encoder, run: Run): Promise<boolean> =>
  (await hasElement(encoder.name, run)) && (!encoder.hardware || (await canEncode(encoder, run)))

type Preference = Settings['encoder']['preference']

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

const findEncoder = async (codec: Codec, preference: Preference, run: Run): Promise<Encoder> => {
  const candidates = ENCODERS.filter((encoder) => encoder.codec === codec && ALLOWED[preference](encoder))
  for (const candidate of candidates) if (await works(candidate, run)) return candidate
  throw missing(codec, preference === 'auto' ? candidates.filter((encoder) => !encoder.hardware) : candidates, preference)
}

// Found encoders are kept for the life of the process; missing ones are searched again, since the user may install them.
const searches = new WeakMap<Run, Map<string, Promise<Encoder>>>()

/** The best encoder that works on this host. Fault missing_element names the apt package. */
export const chooseEncoder = (codec: Codec, preference: Preference, run: Run): Promise<Encoder> => {
  const known = searches.get(run) ?? new Map<string, Promise<Encoder>>()
  searches.set(run, known)
  const key = `${codec} ${preference}`
  const search = known.get(key) ?? findEncoder(codec, preference, run)
  known.set(key, search)
  search.catch(() => known.delete(key))
  return search
}
