import { describe, expect, it } from 'vitest'
import { createLog } from '../../../../lib/log/log.ts'
import { isPrintable } from '../../../../lib/log/printable.ts'

const collect = (level: 'debug' | 'warn') => {
  const lines: string[] = []
  const log = createLog({ level, clock: { now: () => 0 }, write: (line) => lines.push(line), fields: { process: 'test' } })
  return { lines, log }
}

describe('the log', () => {
  it('writes one JSON line per event', () => {
    const { lines, log } = collect('debug')
    log.info('started', { port: 1 })
    expect(lines).toEqual(['{"time":"1970-01-01T00:00:00.000Z","level":"info","event":"started","process":"test","port":1}'])
  })

  it('leaves out what is below its level', () => {
    const { lines, log } = collect('warn')
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level](level)
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(['warn', 'error'])
  })

  it('masks credentials in every field, in errors and their causes', () => {
    const { lines, log } = collect('debug')
    const cause = new Error('rtspsrc user-pw="hidden one" refused')
    log.error('failed', {
      uri: 'rtsp://me:hidden@cam/x',
      deep: { list: ['token=hidden'] },
      error: new Error('at rtsp://me:hidden@cam', { cause }),
    })
    expect(lines[0]).not.toContain('hidden')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ uri: 'rtsp://***@cam/x' })
  })

  it('masks a credential before it cuts a long text, in the middle of it or not', () => {
    for (let before = 3950; before < 4010; before += 1) {
      const { lines, log } = collect('debug')
      log.info('long', { text: `${'x'.repeat(before)} rtsp://me:hidden-word@cam/x` })
      expect(lines[0]).not.toMatch(/me:|hid/)
      expect(lines[0]?.length).toBeLessThan(4200)
    }
  })

  it('escapes what would write to the terminal on which a line is read, and means the same', () => {
    const { lines, log } = collect('debug')
    const text = 'sent \u001b[2J \u009b31m \u0085 \u202e by a source'
    log.info('odd', { text })
    expect(isPrintable(lines[0] ?? '')).toBe(true)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ text })
  })

  it('writes a line even for values that JSON cannot represent', () => {
    const { lines, log } = collect('debug')
    const circle: Record<string, unknown> = { big: 1n }
    circle.self = circle
    log.info('odd', { circle })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'odd' })
  })
})
