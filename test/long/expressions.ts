/**
 * Analyses the regular expressions of the product, and keeps those that take linear time in test/fixtures. expressions [all]
 * Without `all`, only those that were not analysed yet.
 */
import { writeFileSync } from 'node:fs'
import { LINEAR_EXPRESSIONS, linearExpressions, productExpressions, thirdParty } from '../helpers/expressions.ts'

interface Verdict {
  readonly status: 'safe' | 'vulnerable' | 'unknown'
  readonly complexity?: { readonly summary: string }
  readonly attack?: { readonly pattern: string }
}

const PATIENCE_MS = 60_000
// biome-ignore lint/suspicious/noExplicitAny: the packages of the fixture have no types here
const { check } = thirdParty('recheck') as any
const known = process.argv[2] === 'all' ? new Set<string>() : linearExpressions()
const linear: string[] = []

for (const [expression, file] of productExpressions()) {
  const [, source = '', flags = ''] = /^\/(.*)\/(\w*)$/s.exec(expression) ?? []
  const { status, complexity, attack }: Verdict = known.has(expression)
    ? { status: 'safe' }
    : await check(source, flags, { timeout: PATIENCE_MS })
  if (status === 'safe') linear.push(expression)
  else {
    console.error(`${file}: ${expression}\n  ${status} ${complexity?.summary ?? ''} ${attack?.pattern ?? ''}`)
    process.exitCode = 1
  }
}
writeFileSync(LINEAR_EXPRESSIONS, `${JSON.stringify(linear.sort(), null, 2)}\n`)
