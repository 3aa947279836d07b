/**
 * Runs measurements one after the other: npm run bench NAME [ARGUMENTS], npm run bench all. Without a name it lists them.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const names = readdirSync(import.meta.dirname)
  .map((file) => file.replace(/\.ts$/, ''))
  .filter((name) => name !== 'bench')
  .sort()

const fileOf = (name: string): string => join(import.meta.dirname, `${name}.ts`)

/** The comment at the head of a measurement: what it measures and its arguments. */
const describe = (name: string): string => {
  const [, comment = ''] = /^\/\*\*(.*?)\*\//s.exec(readFileSync(fileOf(name), 'utf8')) ?? []
  return comment.replaceAll(/^ ?\* ?/gm, '').trim()
}

/** Answers whether it ended well. klv-fuzz looks at its memory after a collection. */
const run = (name: string, args: readonly string[]): boolean => {
  process.stderr.write(`\n${name} ${args.join(' ')}\n`)
  return spawnSync(process.execPath, ['--expose-gc', fileOf(name), ...args], { stdio: 'inherit' }).status === 0
}

const [wanted, ...args] = process.argv.slice(2)
if (wanted === undefined) {
  for (const name of names) process.stdout.write(`${name}\n    ${describe(name).replaceAll('\n', '\n    ')}\n`)
} else if (wanted === 'all') {
  const failed = names.filter((name) => !run(name, []))
  if (failed.length > 0) process.stderr.write(`\nfailed: ${failed.join(', ')}\n`)
  process.exitCode = failed.length === 0 ? 0 : 1
} else if (names.includes(wanted)) {
  process.exitCode = run(wanted, args) ? 0 : 1
} else {
  process.stderr.write(`No measurement ${wanted}; there are ${names.join(', ')} and all\n`)
  process.exitCode = 64
}
