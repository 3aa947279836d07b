import { readFileSync, writeFileSync } from 'node:fs'

/** In thousandths of the memory, proc(5). */
const RAISE_BY = 500
const MAX_SCORE = 1000

/**
 * Makes the kernel end this process before the engine when no memory is left: one pipeline starts again, instead of all.
 * Does nothing when the process has ended.
 */
export const endFirstWithoutMemory = (pid: number): void => {
  try {
    const own = Number(readFileSync('/proc/self/oom_score_adj', 'utf8'))
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(Math.min(MAX_SCORE, own + RAISE_BY)))
  } catch {
    // The process has ended, or this host does not allow it.
  }
}
