import { describe, expect, it } from 'vitest'
import { LogRing } from '../../../engine/pipelines/log-ring.ts'
import { createLog } from '../../../lib/log.ts'

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
    log.debug('a')
    log.info('b')
    log.warn('c')
    log.error('d')
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(['c', 'd'])
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

  it('writes a line even for values that JSON cannot represent', () => {
    const { lines, log } = collect('debug')
    const circle: Record<string, unknown> = { big: 1n }
    circle.self = circle
    log.info('odd', { circle })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'odd' })
  })
})

describe('the log ring of a pipeline', () => {
  it('keeps the last 500 lines over runs, masked and cut', () => {
    const ring = new LogRing(() => 0)
    for (let line = 0; line < 600; line += 1) ring.add(line < 550 ? 1 : 2, 'stderr', `line ${line}`)
    ring.add(2, 'stderr', 'location=rtsp://me:hidden@cam/x')
    ring.add(2, 'stdout', 'x'.repeat(10_000))
    const lines = ring.lines()
    expect(lines).toHaveLength(500)
    expect(lines[0]?.line).toBe('line 102')
    expect(lines.at(-2)?.line).toBe('location=rtsp://***@cam/x')
    expect(lines.at(-1)?.line.length).toBeLessThan(2100)
    expect(ring.stderrTail(2, 2)).toEqual(['line 599', 'location=rtsp://***@cam/x'])
    expect(ring.stderrTail(3, 2)).toEqual([])
  })
})
