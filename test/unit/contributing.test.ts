import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { ADDITIONS, type Edit } from '../fixtures/contributing/additions.ts'
import { inlineCode, namedPaths, readDocument, section, shellCommands } from '../helpers/documents.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const CONTRIBUTING = readDocument('CONTRIBUTING.md')
const FAKE_ENGINE = 'test/helpers/fakes'

/** The part of the tree that the compiler needs, in a folder that the end of the test removes. */
const copyTree = (): string => {
  const tree = mkdtempSync(join(tmpdir(), 'contributing-'))
  onTestFinished(() => rmSync(tree, { recursive: true }))
  for (const name of ['handlers', 'lib', 'engine', 'db', 'build.mjs', 'package.json', FAKE_ENGINE])
    cpSync(join(ROOT, name), join(tree, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as { readonly compilerOptions: object }
  const include = ['handlers', 'lib', 'engine', 'db', `${FAKE_ENGINE}/engine.ts`]
  writeFileSync(join(tree, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...compilerOptions, incremental: true }, include }))
  return tree
}

const apply = (tree: string, { file, content, insertions = [] }: Edit): void => {
  const path = join(tree, file)
  mkdirSync(resolve(path, '..'), { recursive: true })
  let text = content ?? readFileSync(path, 'utf8')
  for (const [anchor, inserted] of insertions) {
    expect([file, anchor, text.split(anchor).length - 1]).toEqual([file, anchor, 1])
    text = text.replace(anchor, () => anchor + inserted)
  }
  writeFileSync(path, text)
}

/** Puts the files of the edits back, then makes those edits that are not left out. */
const change = (tree: string, isLeftOut: (edit: Edit) => boolean): void => {
  const edits = ADDITIONS.flatMap((addition) => addition.edits)
  for (const { file, content } of edits) if (content === undefined) cpSync(join(ROOT, file), join(tree, file))
  for (const edit of edits) if (!isLeftOut(edit)) apply(tree, edit)
}

/** The errors of the compiler, one in a line. */
const compile = (tree: string): readonly string[] =>
  spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', tree, '--pretty', 'false'], { cwd: tree })
    .stdout.toString()
    .split('\n')
    .filter((line) => /^\S+\.tsx?\(/.test(line))

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

  it('is enough to make each addition, and the compiler reports a file that was left out', () => {
    const tree = copyTree()
    change(tree, () => false)
    expect(compile(tree)).toEqual([])
    execFileSync(process.execPath, ['build.mjs', '--check'], { cwd: tree })
    const checked = ADDITIONS.map(({ name, edits }) => ({ name, edits: edits.filter(({ reportedIn }) => reportedIn !== undefined) }))
    for (let at = 0; checked.some(({ edits }) => at < edits.length); at++) {
      const leftOut = checked.flatMap(({ name, edits }) => edits.slice(at, at + 1).map((edit) => ({ name, edit })))
      change(tree, (edit) => leftOut.some((one) => one.edit === edit))
      const errors = compile(tree)
      for (const { name, edit } of leftOut) {
        const reported = errors.some((line) => line.startsWith(`${edit.reportedIn}(`) && line.includes(name))
        expect([name, `without ${edit.file}`, reported ? 'reported' : errors]).toEqual([name, `without ${edit.file}`, 'reported'])
      }
    }
  }, 600_000)
})
