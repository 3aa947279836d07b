import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const HEAP = join(import.meta.dirname, '../../handlers/node/heap.ts')

/** Makes 60 MB of garbage that is old, and tells what the heap takes then and a second later, megabytes. */
const SCRIPT = `
  import { getHeapStatistics } from 'node:v8'
  import { collectWhenIdle } from ${JSON.stringify(HEAP)}
  const megabytes = () => Math.round(getHeapStatistics().total_heap_size / 1024 / 1024)
  if (process.argv[1] === 'collects') collectWhenIdle(100)
  let kept = Array.from({ length: 1_000_000 }, (_, at) => ({ at, text: String(at) }))
  const before = megabytes()
  kept = undefined
  setTimeout(() => console.log(before, megabytes()), 1000)`

const heap = async (way: string) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', SCRIPT, way])
  const [before = 0, after = 0] = stdout.split(' ').map(Number)
  return { before, after }
}

it('gives the memory of a burst back when it is over, which V8 does not do by itself', async () => {
  const [left, collected] = await Promise.all([heap('left'), heap('collects')])
  expect(left.after).toBeGreaterThan(60)
  expect(collected.before).toBeGreaterThan(60)
  expect(collected.after).toBeLessThan(20)
})
