import { describe, expect, it } from 'vitest'
import { createLog } from '../../../../lib/log/log.ts'
import { type TextStyle, terminalStyle } from '../../../../lib/log/log-text.ts'

const collect = (text: TextStyle) => {
  const lines: string[] = []
  const log = createLog({ level: 'debug', clock: { now: () => 0 }, write: (line) => lines.push(line), fields: { process: 'api' }, text })
  return { log, lines }
}

const PLAIN: TextStyle = { color: false }

describe('the log on a terminal', () => {
  it('is one aligned line per event', () => {
    const { log, lines } = collect(PLAIN)
    log.info('engine_ready', { occasion: 'service_start', pid: 7 })
    log.error('broken')
    expect(lines.map((line) => line.replace(/^[\d:.]{12}/, 'hh:mm:ss.mmm'))).toEqual([
      'hh:mm:ss.mmm  info   api     engine_ready              occasion=service_start pid=7',
      'hh:mm:ss.mmm  error  api     broken',
    ])
  })

  it('has color only where it is wanted', () => {
    const [colored, plain] = [collect({ color: true }), collect(PLAIN)]
    for (const { log } of [colored, plain]) log.warn('careful', { why: 'so' })
    expect(colored.lines[0]).toContain('\u001b[33mwarn \u001b[0m')
    expect(plain.lines[0]).not.toContain('\u001b')
  })

  it('quotes what has blanks, and escapes what could rewrite the terminal', () => {
    const { log, lines } = collect(PLAIN)
    log.info('shown', { text: 'a b', hostile: '\u001b]0;title\u0007\u009b2J\u202e', list: ['a', 1] })
    expect(lines[0]).toContain('text="a b"')
    expect(lines[0]).toContain('list=["a",1]')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
    expect(lines[0]).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
  })

  it('shows the causes of an error on its line, and its stack below', () => {
    const { log, lines } = collect(PLAIN)
    log.error('failed', { error: new Error('outer', { cause: new Error('inner') }) })
    const [line, ...stack] = lines.join('\n').split('\n')
    expect(line).toContain('error="outer: inner"')
    expect(stack.length).toBeGreaterThan(0)
    expect(stack.every((frame) => frame.startsWith('    at '))).toBe(true)
  })
})

describe('the style', () => {
  it('is text on a terminal alone, with color unless NO_COLOR or TERM says otherwise', () => {
    expect(terminalStyle({}, {})).toBeUndefined()
    expect(terminalStyle({ isTTY: true }, { TERM: 'xterm' })).toEqual({ color: true })
    expect(terminalStyle({ isTTY: true }, { NO_COLOR: '1' })).toEqual({ color: false })
    expect(terminalStyle({ isTTY: true }, { NO_COLOR: '' })).toEqual({ color: true })
    expect(terminalStyle({ isTTY: true }, { TERM: 'dumb' })).toEqual({ color: false })
  })
})
