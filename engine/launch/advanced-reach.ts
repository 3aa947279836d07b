import { type Token, tokenize } from '../gst/description.ts'
import { codecNodes, graphicsNodes } from '../sandbox/device-nodes.ts'
import type { Reach } from '../sandbox/sandbox.ts'

const DEVICE = /^\/dev\/(?:video\d+|media\d+|v4l\/by-(?:id|path)\/[\w.:+-]+|dri\/(?:card|renderD)\d+)$/
const GRAPHICS_ELEMENT = /^(?:va|nv|qsv|msdk|gl)/
const V4L2_CODEC = /^v4l2\w*(?:enc|dec)$/

/**
 * What the child of an advanced pipeline may reach: the network, the devices that its description names, and the folder of file
 * sources when the operator has given one.
 */
export const advancedReach = (description: string, fileFolder: string | undefined): Reach => {
  const tokens = tokenize(description)
  const names = tokens.flatMap((token) => (token.kind === 'element' ? [token.text] : []))
  return {
    network: true,
    devices: [
      ...namedDevices(tokens),
      // The default of v4l2src.
      ...(names.includes('v4l2src') ? ['/dev/video0'] : []),
      ...(names.some((name) => GRAPHICS_ELEMENT.test(name)) ? graphicsNodes() : []),
      ...(names.some((name) => V4L2_CODEC.test(name)) ? codecNodes() : []),
    ],
    files: fileFolder === undefined ? [] : [fileFolder],
  }
}

const namedDevices = (tokens: readonly Token[]): readonly string[] =>
  tokens.flatMap((token) => (token.kind === 'assignment' && DEVICE.test(token.value) ? [token.value] : []))
