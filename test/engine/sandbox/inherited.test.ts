import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'

const MODULE = resolve(import.meta.dirname, '../../../engine/sandbox/inherited.ts')

/** Prints what the descriptor holds afterwards, and whether a child has it. */
const SCRIPT = `
  import { execFileSync } from 'node:child_process'
  import { readFileSync } from 'node:fs'
  import { withholdInherited } from ${JSON.stringify(MODULE)}
  const inChild = () => execFileSync('ls', ['/proc/self/fd'], { encoding: 'utf8' }).split('\\n').includes('77')
  const before = inChild()
  await withholdInherited()
  console.log(JSON.stringify({ before, after: inChild(), content: readFileSync(77, 'utf8') }))`

it('keeps a descriptor that was inherited from children, and does not close it: a thread may be using it', async () => {
  const file = join(temporaryDataDir(), 'inherited')
  writeFileSync(file, 'held')
  const node = [process.execPath, '--input-type=module', '-e', SCRIPT]
  const { stdout } = await promisify(execFile)('bash', ['-c', 'exec 77<"$0"; exec "$@"', file, ...node])
  expect(JSON.parse(stdout)).toEqual({ before: true, after: false, content: 'held' })
})
