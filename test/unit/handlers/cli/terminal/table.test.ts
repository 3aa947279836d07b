import stringWidth from 'string-width'
import { describe, expect, it } from 'vitest'
import { cutEnd, formatTable } from '../../../../../handlers/cli/terminal/table.ts'

const COLUMNS = [{ title: 'ID' }, { title: 'SOURCE', minWidth: 9 }, { title: 'READERS', align: 'right' }] as const
const SOURCES = ['rtsp://10.0.0.5/plain', 'rtsp://10.0.0.5/正門の東', 'rtsp://10.0.0.5/🇧🇷👩‍👩‍👧', 'rtsp://10.0.0.5/cafe\u0301']

const linesAt = (width: number) =>
  formatTable(
    COLUMNS,
    SOURCES.map((source, at) => [{ text: `cam-${at}` }, { text: source }, { text: '7' }]),
    { width, paintTitle: (text) => text },
  )

describe('a table on a terminal', () => {
  it.each([80, 36, 31])('ends its columns at the same place whatever the characters, at a width of %i', (width) => {
    const lines = linesAt(width)
    expect(new Set(lines.map((line) => stringWidth(line))).size).toBe(1)
    expect(stringWidth(lines[0] ?? '')).toBeLessThanOrEqual(width)
  })

  it('cuts no character into pieces', () => {
    const cut = linesAt(30).join('\n')
    expect(cut).toContain('…')
    for (const part of ['\u{1F1E7}', '\u200D', '\u0301']) {
      const whole = { '\u{1F1E7}': '🇧🇷', '\u200D': '👩‍👩‍👧', '\u0301': 'e\u0301' }[part] ?? ''
      expect(cut.replaceAll(whole, '')).not.toContain(part)
    }
  })

  it('cuts a line at its end to the width', () => {
    expect(cutEnd('東門が見えません', 9)).toBe('東門が見…')
    expect(cutEnd('東門が見えません', 10)).toBe('東門が見…')
    expect(cutEnd('short', 5)).toBe('short')
  })
})
