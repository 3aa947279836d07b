import { describe, expect, it } from 'vitest'
import { LogRing } from '../../../../engine/play/log-ring.ts'

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
    // Classified as it came; never shown.
    expect(ring.stderrTail(2).slice(-2)).toEqual(['line 599', 'location=rtsp://me:hidden@cam/x'])
    expect([ring.stderrTail(2).length, ring.stderrTail(3)]).toEqual([20, []])
  })

  it('shows no part of a password at the place where a line is cut', () => {
    const ring = new LogRing(() => 0)
    ring.add(1, 'stdout', `${'x'.repeat(1985)} rtsp://me:hidden@cam/x`)
    expect(ring.lines()[0]?.line).not.toContain('hid')
  })
})
