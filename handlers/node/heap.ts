import { performance } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Between two looks at the heap, milliseconds. */
const CHECK_MS = 10_000
/** A process that is busy for a smaller part of its time is idle. */
const IDLE_UTILIZATION = 0.05
/** Growth of the space for old objects since the last collection that is worth another one, bytes. */
const WORTH_BYTES = 2 * 1024 * 1024

/** Room for new objects that is worth a collection, bytes. The start needs 8 MB. */
const LARGE_NEW_SPACE_BYTES = 16 * 1024 * 1024

/**
 * Collects the garbage of a burst of requests when it is over, and gives back the room that new objects had meanwhile: V8 keeps both
 * for as long as the process is idle. After 1,000 pipelines were created that is 37 MB. Then the C library gives back what it keeps
 * of freed memory, further 13 MB.
 */
export const collectWhenIdle = (checkMs = CHECK_MS): void => {
  const collect = collector()
  let before = performance.eventLoopUtilization()
  let kept = 0
  const check = async (): Promise<void> => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    if (utilization > IDLE_UTILIZATION) return
    if (sizeOf('old_space') - kept < WORTH_BYTES && sizeOf('new_space') < LARGE_NEW_SPACE_BYTES) return
    await collect()
    await trimMalloc()
    kept = sizeOf('old_space')
  }
  setInterval(() => void check(), checkMs).unref()
}

/** Bytes. */
const sizeOf = (space: 'old_space' | 'new_space'): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === space)?.space_size ?? 0

/** V8's own function, which only a context that is made meanwhile has. */
const collector = (): (() => Promise<void>) => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: { readonly execution: 'async'; readonly flavor: 'last-resort' }) => Promise<void>
  setFlagsFromString('--no-expose-gc')
  return () => gc({ execution: 'async', flavor: 'last-resort' })
}

let trim: (() => Promise<void>) | undefined

/** Of the GNU C library, malloc_trim(3); others have none, and keep what they keep. Loaded after the first burst. */
const trimMalloc = async (): Promise<void> => {
  trim ??= await loadTrim().catch(() => async () => {})
  await trim()
}

const loadTrim = async (): Promise<() => Promise<void>> => {
  const { default: koffi } = await import('koffi')
  const mallocTrim = koffi.load('libc.so.6').func('int malloc_trim(size_t pad)')
  // On another thread: it takes some milliseconds.
  return () => new Promise((resolve) => mallocTrim.async(0, () => resolve()))
}
