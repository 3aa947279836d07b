import { readFileSync, writeFileSync } from 'node:fs'

/** In thousandths of the memory that there is, proc(5). */
const MORE = 500
const MOST = 1000

/**
 * When no memory is left, the kernel ends this process before the engine, which would end all streams; its own pipeline starts again.
 * Does nothing where the process has ended.
 */
export const endFirstWithoutMemory = (pid: number): void => {
  try {
    const own = Number(readFileSync('/proc/self/oom_score_adj', 'utf8'))
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(Math.min(MOST, own + MORE)))
  } catch {
    // As it was.
  }
}
