import { readFileSync } from 'node:fs'
import { cameraNodes, joinNodes } from '../../../engine/cameras/join-nodes.ts'
import { createMonitorParser } from '../../../engine/cameras/monitor-output.ts'
import type { CameraCapabilities } from '../../../lib/schema/camera.ts'

/** The first camera in a recorded listing of gst-device-monitor-1.0, test/fixtures/cameras/<listing>.txt. */
export const recordedCamera = (listing: string): CameraCapabilities => {
  const text = readFileSync(new URL(`../../fixtures/cameras/${listing}.txt`, import.meta.url), 'utf8')
  const devices = createMonitorParser()
    .push(text)
    .flatMap((event) => (event.type === 'added' ? [event.device] : []))
  const [found] = joinNodes(cameraNodes(devices))
  if (found === undefined) throw new Error(`no camera in ${listing}`)
  return found
}
