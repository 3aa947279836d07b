import { Fault } from '../faults/fault.ts'
import type { runToEnd } from './child.ts'
import { hasElement } from './choose-encoder.ts'
import { knownPackage } from './elements.ts'
import { ENCODERS } from './encoder-table.ts'

/** An element of each package: where it is installed, a name that it does not have is a spelling mistake. */
const WITNESSES: Readonly<Record<string, string>> = {
  'gstreamer1.0-plugins-ugly': 'x264enc',
  'gstreamer1.0-libav': 'avdec_h264',
  'gstreamer1.0-plugins-base': 'videoconvert',
  'gstreamer1.0-plugins-good': 'rtph264pay',
  'gstreamer1.0-x': 'textoverlay',
}

/** Fault missing_element with the package of an element that GStreamer does not know; undefined when no package is known to have it. */
export const missingElement = async (name: string | undefined, run: typeof runToEnd): Promise<Fault | undefined> => {
  if (name === undefined) return undefined
  const aptPackage = ENCODERS.find((encoder) => encoder.name === name)?.aptPackage ?? (await packageThatIsMissing(name, run))
  if (aptPackage === undefined) return undefined
  return new Fault('missing_element', `The element ${name} is not installed. Install it: apt-get install ${aptPackage}`)
}

const packageThatIsMissing = async (name: string, run: typeof runToEnd): Promise<string | undefined> => {
  const aptPackage = knownPackage(name)
  const witness = aptPackage === undefined ? undefined : WITNESSES[aptPackage]
  return witness === undefined || (await hasElement(witness, run)) ? undefined : aptPackage
}
