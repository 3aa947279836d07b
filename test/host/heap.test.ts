import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const HEAP = join(import.meta.dirname, '../../handlers/node/heap.ts')

/** Makes 60 MB of garbage that is old, and 80 MB of buffers of which a few stay; tells what the heap takes then, and heap and process later, MB. */
const SCRIPT = `
  import { getHeapStatistics } from 'node:v8'
  import { collectWhenIdle } from ${JSON.stringify(HEAP)}
  const megabytes = (bytes) => Math.round(bytes / 1024 / 1024)
  const heap = () => megabytes(getHeapStatistics().total_heap_size)
  if (process.argv[1] === 'collects') collectWhenIdle(100)
  let kept = Array.from({ length: 1_000_000 }, (_, at) => ({ at, text: String(at) }))
  let buffers = Array.from({ length: 4000 }, () => Buffer.alloc(20_000, 1))
  const before = heap()
  globalThis.few = buffers.filter((_, at) => at % 40 === 0)
  kept = buffers = undefined
  setTimeout(() => console.log(before, heap(), megabytes(process.memoryUsage.rss())), 1500)`

const memory = async (way: string) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', SCRIPT, way])
  const [before = 0, after = 0, resident = 0] = stdout.split(' ').map(Number)
  return { before, after, resident }
}

it('gives the memory of a burst back when it is over, which neither V8 nor malloc does by itself', async () => {
  const [left, collected] = await Promise.all([memory('left'), memory('collects')])
  expect(left.after).toBeGreaterThan(60)
  expect(collected.before).toBeGreaterThan(60)
  expect(collected.after).toBeLessThan(20)
  // 146 MB when only V8 collects: the buffers that stay keep the pages between them.
  expect(collected.resident).toBeLessThan(110)
})
