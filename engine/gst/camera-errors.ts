import { Fault, type FaultCause } from '../fault.ts'

/** What v4l2src 1.22 and the kernel write, most telling first: a busy device also fails to negotiate. */
const TEXTS: readonly (readonly [RegExp, FaultCause, string])[] = [
  [
    /permission denied|operation not permitted/i,
    'permission',
    'The camera may not be opened. Add the user that runs the service to the group video (usermod -aG video), then start the service anew.',
  ],
  [
    /device '[^']*' is busy|device or resource busy|resource busy/i,
    'device_busy',
    'The camera is open in another program or pipeline. Close that one; a camera delivers to one at a time.',
  ],
  [
    /cannot identify device|no such (?:file or directory|device)|device lost|poll error/i,
    'device_missing',
    'The camera is not attached. Plug it in; GET cameras lists those that are.',
  ],
  [
    /not a capture device|this isn't a device|isn't a v4l2 driver|not-negotiated|no supported formats/i,
    'unsupported',
    'The device does not deliver video in the format asked for. GET camera?path= lists what it offers.',
  ],
]

/** Why v4l2src failed, by what it wrote to stderr; undefined when the lines do not speak of a camera. */
export const classifyCameraFault = (stderr: readonly string[]): Fault | undefined => {
  const text = stderr.join('\n')
  if (!/v4l2|\/dev\/video/i.test(text)) return undefined
  const found = TEXTS.find(([pattern]) => pattern.test(text))
  return found && new Fault(found[1], found[2])
}
