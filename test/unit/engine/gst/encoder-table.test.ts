import { expect, it } from 'vitest'
import { ENCODERS } from '../../../../engine/gst/encoder-table.ts'

const PRESETS = ['low-latency-hp', 'low-latency', 'low-latency-hq']

/** What a line of a hardware encoder spends on quality: more for a slower setting. */
const spentBy = (line: string): number => {
  const [, step] = /(?:target-usage|quality-level)=(\d+)/.exec(line) ?? []
  const [, preset = ''] = / preset=(\S+)/.exec(line) ?? []
  return step === undefined ? 2 * PRESETS.indexOf(preset) + Number(line.includes('spatial-aq=true')) : -Number(step)
}

// There is no such hardware where the tests run.
it.each(ENCODERS.filter(({ hardware }) => hardware))(
  '$name gets bitrate and key interval, and more quality never spends less',
  (encoder) => {
    const lines = Array.from({ length: 10 }, (_, at) => encoder.tokens({ bitrate: 4321, quality: at + 1, keyInterval: 57 }).join(' '))
    for (const line of lines) expect(line).toMatch(/bitrate=4321.*(?:size|max|period)=57/)
    const spent = lines.map(spentBy)
    expect(spent).toEqual(spent.toSorted((one, other) => one - other))
    // V4L2 has no speeds.
    expect(new Set(spent).size).toBe(encoder.name.startsWith('v4l2') ? 1 : encoder.name.startsWith('nv') ? 6 : 7)
  },
)
