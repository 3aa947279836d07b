import type { runToEnd } from '../../gst/child.ts'
import { canEncode, hasElement } from '../../gst/choose-encoder.ts'
import { ELEMENTS, type Elements } from '../../gst/elements.ts'
import { ENCODERS, type Encoder } from '../../gst/encoder-table.ts'
import { PUSH_ELEMENTS } from '../../push/schemes.ts'
import { SOURCE_ELEMENTS } from '../../sources/kinds.ts'
import type { Finding } from './report.ts'

type Run = typeof runToEnd
type PackagedFinding = Finding & { readonly packages?: readonly string[] }

/** Of Ubuntu 22.04; older versions lack properties that launch lines use (drop-mode of valve). */
const MIN_GSTREAMER = [1, 20] as const
const TIMEOUT_MS = 5000

const PROGRAMS: readonly (readonly [program: string, aptPackage: string, without?: string])[] = [
  ['setpriv', 'util-linux'],
  ['gst-launch-1.0', 'gstreamer1.0-tools'],
  ['gst-inspect-1.0', 'gstreamer1.0-tools'],
  ['gst-device-monitor-1.0', 'gstreamer1.0-plugins-base-apps', 'cameras'],
  ['v4l2-ctl', 'v4l-utils', 'the drivers of some cameras'],
]

/** Checks programs, the version of GStreamer, its elements, and whether each encoder encodes a frame. */
export const checkGstreamer = async (run: Run): Promise<readonly PackagedFinding[]> => {
  const programs = await Promise.all(PROGRAMS.map((entry) => checkProgram(run, ...entry)))
  const version = await checkVersion(run)
  if (version.status === 'failed') return [...programs, version]
  return [...programs, version, ...(await checkElements(run)), ...(await checkEncoders(run))]
}

const checkProgram = async (run: Run, program: string, aptPackage: string, without?: string): Promise<PackagedFinding> => {
  // Every program is started by setpriv, so without setpriv all of them are missing.
  const { missing } = await run(program, ['--help'], { timeoutMs: TIMEOUT_MS, reach: 'host' })
  const name = `program ${program}`
  if (!missing) return { name, status: 'ok', message: 'found' }
  return { name, ...lacking(without), packages: [aptPackage] }
}

const lacking = (without: string | undefined): Pick<Finding, 'status' | 'message'> =>
  without === undefined
    ? { status: 'failed', message: 'missing; pipelines do not work without it' }
    : { status: 'warning', message: `missing; ${without} do not work without it` }

/** Every element of every launch line. */
const USED_ELEMENTS: Elements = { ...ELEMENTS, ...SOURCE_ELEMENTS, ...PUSH_ELEMENTS }

const softwareEncoder = (codec: Encoder['codec']): Encoder | undefined =>
  ENCODERS.find((encoder) => encoder.codec === codec && !encoder.hardware)

/** What a host without GStreamer lacks: no element can be looked for there. */
const EVERY_PACKAGE: readonly string[] = [
  'gstreamer1.0-tools',
  ...[...Object.values(USED_ELEMENTS), softwareEncoder('h264'), softwareEncoder('h265')].flatMap((needed) => needed?.aptPackage ?? []),
]

const checkVersion = async (run: Run): Promise<PackagedFinding> => {
  const name = 'GStreamer'
  const { stdout } = await run('gst-launch-1.0', ['--version'], { timeoutMs: TIMEOUT_MS, reach: 'host' })
  const version = /GStreamer (\d+)\.(\d+)\S*/.exec(stdout)
  if (version === null) return { name, status: 'failed', message: 'not installed', packages: EVERY_PACKAGE }
  const [major, minor] = [Number(version[1]), Number(version[2])]
  const [minMajor, minMinor] = MIN_GSTREAMER
  const recent = major > minMajor || (major === minMajor && minor >= minMinor)
  const message = version[0].replace('GStreamer ', '')
  return recent
    ? { name, status: 'ok', message }
    : {
        name,
        status: 'warning',
        message,
        advice: `upgrade GStreamer to ${MIN_GSTREAMER.join('.')} or later; the service is not tested with older versions`,
      }
}

const checkElements = async (run: Run): Promise<readonly PackagedFinding[]> => {
  const names = Object.keys(USED_ELEMENTS)
  const { stdout } = await run('gst-inspect-1.0', [], { timeoutMs: TIMEOUT_MS, reach: 'host' })
  // Lines such as "coreelements:  queue: Queue".
  const installed = new Set([...stdout.matchAll(/^\S+: {1,2}(\S+): /gm)].map(([, name]) => name))
  const missing = Object.entries(USED_ELEMENTS).filter(([name]) => !installed.has(name))
  const ok: PackagedFinding = {
    name: 'elements',
    status: 'ok',
    message: `${names.length - missing.length} of ${names.length} are installed`,
  }
  return [
    ...(missing.length < names.length ? [ok] : []),
    ...missing.map(([name, { aptPackage, without }]) => ({ name: `element ${name}`, ...lacking(without), packages: [aptPackage] })),
  ]
}

const checkEncoders = async (run: Run): Promise<readonly PackagedFinding[]> => {
  const tried: { readonly encoder: Encoder; readonly installed: boolean; readonly works: boolean }[] = []
  // One after the other: each uses all cores.
  for (const encoder of ENCODERS) {
    const installed = await hasElement(encoder.name, run)
    tried.push({ encoder, installed, works: installed && (await canEncode(encoder, run)) === true })
  }
  const each = tried
    .filter(({ installed }) => installed)
    .map(({ encoder: { codec, name, hardware }, works }): PackagedFinding => {
      const kind = `${hardware ? 'hardware' : 'software'} ${codec}`
      return works
        ? { name: `encoder ${name}`, status: 'ok', message: `${kind}, encodes` }
        : {
            name: `encoder ${name}`,
            status: 'warning',
            message: `${kind}, is installed but does not encode`,
            advice: 'check its driver; the service does not use this encoder',
          }
    })
  const lacking = (['h264', 'h265'] as const).filter((codec) => !tried.some(({ encoder, works }) => works && encoder.codec === codec))
  return [
    ...each,
    ...lacking.map((codec): PackagedFinding => {
      const { aptPackage } = softwareEncoder(codec) ?? {}
      return {
        name: `encoding to ${codec}`,
        status: 'warning',
        message: 'no encoder works',
        packages: aptPackage === undefined ? [] : [aptPackage],
      }
    }),
  ]
}
