import { Fault, type FaultReason } from '../faults/fault.ts'

/** Messages of v4l2src 1.22 and the kernel, the most specific first: a busy device also fails to negotiate. */
const RULES: readonly (readonly [RegExp, FaultReason, string])[] = [
  [
    /permission denied|operation not permitted/i,
    'permission',
    'The service has no permission to open the camera. Add the user of the service to the group video (usermod -aG video <user>), then restart the service.',
  ],
  [
    /device '[^']*' is busy|device or resource busy|resource busy/i,
    'device_busy',
    'The camera is open in another program or pipeline. Close that one: only one can use a camera at a time.',
  ],
  [
    /cannot identify device|no such (?:file or directory|device)|device lost|poll error/i,
    'device_missing',
    'The camera is not attached. Plug it in; GET cameras lists the attached cameras.',
  ],
  [
    /not a capture device|this isn't a device|isn't a v4l2 driver|not-negotiated|no supported formats/i,
    'unsupported',
    'The device does not deliver video in the requested format. Use a format that GET camera?path= lists.',
  ],
]

/** The fault of v4l2src by its lines on stderr; undefined when they do not mention a camera. */
export const classifyCameraFault = (stderr: readonly string[]): Fault | undefined => {
  const text = stderr.join('\n')
  if (!/v4l2|\/dev\/video/i.test(text)) return undefined
  const [, reason, message] = RULES.find(([pattern]) => pattern.test(text)) ?? []
  return reason && message ? new Fault(reason, message) : undefined
}
