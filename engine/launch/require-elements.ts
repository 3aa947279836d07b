import { Fault } from '../faults/fault.ts'
import { runToEnd } from '../gst/child.ts'
import { hasElement } from '../gst/choose-encoder.ts'
import { packageOf } from '../gst/elements.ts'
import type { Launch } from './launch.ts'

/** Those that were found: a missing one may be installed later, and is searched again. */
const found = new Set<string>()

/** Throws Fault missing_element, as a start would end, when GStreamer lacks an element of the launch line of a simple pipeline. */
export const requireElements = async ({ shown }: Pick<Launch, 'shown'>, run: typeof runToEnd = runToEnd): Promise<void> => {
  const names = new Set(shown.filter((token, at) => (at === 0 || shown[at - 1] === '!') && /^\w+$/.test(token)))
  const unknown = [...names].filter((name) => !found.has(name))
  const exist = await Promise.all(unknown.map((name) => hasElement(name, run)))
  for (const [at, name] of unknown.entries()) {
    if (exist[at] !== true) {
      throw new Fault('missing_element', `The element ${name} is not installed. Install it: apt-get install ${packageOf(name)}`)
    }
    found.add(name)
  }
}
