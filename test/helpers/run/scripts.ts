/**
 * Runs scripts of test/bench, test/fuzz or test/long, one after the other: scripts.ts bench | fuzz | long [NAME [ARGUMENTS] | all | list]. Without a name
 * it lists measurements, and runs all suites that judge.
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'

const [folder = '', wanted = folder === 'long' ? 'all' : 'list', ...args] = process.argv.slice(2)
const cwd = resolve(import.meta.dirname, '../..', folder)
const files = new Map(
  globSync('**/*.ts', { cwd })
    .map((file) => [basename(file, '.ts'), resolve(cwd, file)] as const)
    .sort(),
)

/** The comment at the head of a script: what it does and its arguments. */
const describe = (file: string): string => {
  const [, comment = ''] = /^\/\*\*(.*?)\*\//s.exec(readFileSync(file, 'utf8')) ?? []
  return comment.replaceAll(/^ ?\* ?/gm, '').trim()
}

/** Answers whether it ended well. */
const run = (name: string, file: string): boolean => {
  process.stderr.write(`\n${name} ${args.join(' ')}\n`)
  return spawnSync(process.execPath, [file, ...args], { stdio: 'inherit' }).status === 0
}

if (wanted === 'list') {
  for (const [name, file] of files) process.stdout.write(`${name}\n    ${describe(file).replaceAll('\n', '\n    ')}\n`)
} else {
  const chosen = [...files].filter(([name]) => wanted === 'all' || name === wanted)
  const failed = chosen.filter(([name, file]) => !run(name, file)).map(([name]) => name)
  if (chosen.length === 0) process.stderr.write(`There is no ${wanted} in ${folder}; there are ${[...files.keys()].join(', ')} and all\n`)
  if (failed.length > 0) process.stderr.write(`\nfailed: ${failed.join(', ')}\n`)
  process.exitCode = chosen.length === 0 ? 64 : failed.length === 0 ? 0 : 1
}
