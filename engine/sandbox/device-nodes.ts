import { readdirSync, readFileSync } from 'node:fs'

const list = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Device nodes of graphics cards, over which hardware decoders and encoders work. */
export const graphicsNodes = (): readonly string[] => [
  ...list('/dev/dri')
    .filter((name) => /^(?:card|renderD)\d+$/.test(name))
    .map((name) => `/dev/dri/${name}`),
  ...list('/dev')
    .filter((name) => /^nvidia(?:\d+|ctl|-modeset|-uvm|-uvm-tools)$/.test(name))
    .map((name) => `/dev/${name}`),
]

/** What drivers of stateful V4L2 codecs (Raspberry Pi, i.MX, Rockchip, Qualcomm) call their nodes; cameras are called otherwise. */
const CODEC_NAME = /codec|encode|decode|\benc\b|\bdec\b|vpu|venus|hantro|rkv|coda|wave5|allegro/i

/** Device nodes of V4L2 codecs. */
export const codecNodes = (): readonly string[] =>
  list('/sys/class/video4linux')
    .filter((name) => /^video\d+$/.test(name) && CODEC_NAME.test(driverName(name)))
    .map((name) => `/dev/${name}`)

const driverName = (node: string): string => {
  try {
    return readFileSync(`/sys/class/video4linux/${node}/name`, 'utf8')
  } catch {
    return ''
  }
}

/** What a decoder or encoder may work over. */
export const codecDevices = (): readonly string[] => [...graphicsNodes(), ...codecNodes()]
