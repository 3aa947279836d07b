/**
 * The random and fuzz tests, with many times the rounds that they have in the check. rounds [TIMES] [FILE]
 * A failure names the seed. Their usual time limits do not count here: the whole is ended after six hours.
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const [times = '50', ...chosen] = process.argv.slice(2)
const root = resolve(import.meta.dirname, '../..')
const files = globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/fixtures/**'] }).filter((file) =>
  readFileSync(resolve(root, file), 'utf8').includes('rounds('),
)

const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--testTimeout', '0', ...(chosen.length > 0 ? chosen : files)],
  { cwd: root, stdio: 'inherit', env: { ...process.env, TEST_ROUNDS: times }, timeout: 6 * 3600_000 },
)
process.exitCode = status ?? 1
