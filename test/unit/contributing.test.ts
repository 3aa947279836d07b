import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { ADDITIONS, type Edit } from '../fixtures/contributing/additions.ts'
import { inlineCode, namedPaths, readDocument, section, shellCommands } from '../helpers/documents.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const CONTRIBUTING = readDocument('CONTRIBUTING.md')

describe('CONTRIBUTING.md', () => {
  it('names files and folders that exist', () => {
    const paths = namedPaths(CONTRIBUTING)
    expect(paths.length).toBeGreaterThan(80)
    expect(paths.filter((path) => !existsSync(resolve(ROOT, path)))).toEqual([])
  })

  it('names npm scripts that exist', () => {
    const code = [...inlineCode(CONTRIBUTING), ...shellCommands(CONTRIBUTING)]
    const scripts = code.flatMap((line) => /^npm (?:run )?([a-z:]+)$/.exec(line)?.[1] ?? [])
    expect(scripts.length).toBeGreaterThan(5)
    expect(scripts.filter((name) => name !== 'run' && !Object.hasOwn(packageJson.scripts, name))).toEqual([])
  })

  it.each(ADDITIONS)('names each file that $heading needs', ({ heading, edits }) => {
    const named = namedPaths(section(CONTRIBUTING, `### ${heading}`))
    const isNamed = ({ file, like = file }: Edit): boolean => named.some((path) => like === path || like.startsWith(`${path}/`))
    expect(edits.filter((edit) => !isNamed(edit)).map(({ file }) => file)).toEqual([])
  })

  /** `npm run test:long additions` makes them, and compiles. */
  it.each(ADDITIONS)('names each place in them that $heading changes', ({ edits }) => {
    for (const { file, insertions = [] } of edits)
      for (const [anchor] of insertions)
        expect([file, anchor, readFileSync(resolve(ROOT, file), 'utf8').split(anchor).length - 1]).toEqual([file, anchor, 1])
  })
})
