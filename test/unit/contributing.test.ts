import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { inlineCode, namedPaths, readDocument, shellCommands } from '../helpers/documents.ts'

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
})
