import type { Fault } from '../faults/fault.ts'
import { type FaultRule, ruledFault } from './fault-rules.ts'

/** Messages of v4l2src 1.22 and the kernel, the most specific first: a busy device also fails to negotiate. */
const RULES: readonly FaultRule[] = [
  {
    pattern: /permission denied|operation not permitted/i,
    reason: 'permission',
    message:
      'The service has no permission to open the camera. Add the user of the service to the group video (usermod -aG video <user>), then restart the service.',
  },
  {
    pattern: /' is busy|resource busy/i,
    reason: 'device_busy',
    message: 'The camera is open in another program or pipeline. Close that one: only one can use a camera at a time.',
  },
  {
    pattern: /cannot identify device|no such (?:file or directory|device)|device lost|poll error/i,
    reason: 'device_missing',
    message: 'The camera is not attached. Plug it in; GET cameras lists the attached cameras.',
  },
  {
    pattern: /not a capture device|this isn't a device|isn't a v4l2 driver|not-negotiated|no supported formats/i,
    reason: 'unsupported',
    message: 'The device does not deliver video in the requested format. Use a format that GET camera?path= lists.',
  },
]

/** The fault of v4l2src by the lines of its child; undefined when they do not mention it. */
export const cameraFault = (lines: readonly string[]): Fault | undefined =>
  lines.some((line) => line.includes('GstV4l2Src')) ? ruledFault(RULES, lines) : undefined
