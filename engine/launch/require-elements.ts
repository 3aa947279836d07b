import { Fault } from '../faults/fault.ts'
import { gstreamerMissing, notStarted } from '../gst/bus-errors.ts'
import { runToEnd } from '../gst/child.ts'
import { packageOf } from '../gst/elements.ts'
import type { Launch } from './launch.ts'

const LIST_MS = 5000

/** Those that were found: a missing one may be installed later, and is searched again. */
const found = new Set<string>()
/** All that check at the same time share one listing: a process for each element of each of them would stop the engine for seconds. */
let listing: Promise<void> | undefined

/** Throws Fault missing_element, as a start would end, when GStreamer lacks an element of the launch line of a simple pipeline. */
export const requireElements = async ({ shown }: Pick<Launch, 'shown'>, run: typeof runToEnd = runToEnd): Promise<void> => {
  const names = [...new Set(shown.filter((token, at) => (at === 0 || shown[at - 1] === '!') && /^\w+$/.test(token)))]
  if (names.every((name) => found.has(name))) return
  listing ??= listElements(run).finally(() => {
    listing = undefined
  })
  await listing
  const missing = names.find((name) => !found.has(name))
  if (missing !== undefined)
    throw new Fault('missing_element', `The element ${missing} is not installed. Install it: apt-get install ${packageOf(missing)}`)
}

/** Each line is `plugin:  element: description`. Fault engine_missing without GStreamer; a transient one when the host is overloaded. */
const listElements = async (run: typeof runToEnd): Promise<void> => {
  const { exitCode, missing, refused, stdout } = await run('gst-inspect-1.0', [], { timeoutMs: LIST_MS, reach: {} })
  if (missing) throw gstreamerMissing()
  if (refused !== undefined) throw notStarted(refused)
  if (exitCode !== 0) throw new Fault('timeout', `GStreamer did not list its elements within ${LIST_MS / 1000} s. The host is overloaded.`)
  for (const line of stdout.split('\n')) {
    const [, name] = line.split(': ', 2)
    if (name !== undefined) found.add(name.trim())
  }
}
