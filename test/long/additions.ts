/** Makes each addition of CONTRIBUTING.md: all of them compile, and the compiler reports each file that is left out. additions */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ADDITIONS, type Edit } from '../fixtures/contributing/additions.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const FAKE_ENGINE = 'test/helpers/fakes'

/** The part of the sources that the compiler needs. */
const copySources = (tree: string): void => {
  for (const name of ['handlers', 'lib', 'engine', 'db', 'build.mjs', 'package.json', FAKE_ENGINE])
    cpSync(join(ROOT, name), join(tree, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as { readonly compilerOptions: object }
  const include = ['handlers', 'lib', 'engine', 'db', `${FAKE_ENGINE}/engine.ts`]
  writeFileSync(join(tree, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...compilerOptions, incremental: true }, include }))
}

const apply = (tree: string, { file, content, insertions = [] }: Edit): void => {
  const path = join(tree, file)
  mkdirSync(resolve(path, '..'), { recursive: true })
  let text = content ?? readFileSync(path, 'utf8')
  for (const [anchor, inserted] of insertions) text = text.replace(anchor, () => anchor + inserted)
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

const judge = (tree: string): void => {
  copySources(tree)
  change(tree, () => false)
  assert.deepEqual(compile(tree), [])
  execFileSync(process.execPath, ['build.mjs', '--check'], { cwd: tree })
  const checked = ADDITIONS.map(({ name, edits }) => ({ name, edits: edits.filter(({ reportedIn }) => reportedIn !== undefined) }))
  for (let at = 0; checked.some(({ edits }) => at < edits.length); at++) {
    const leftOut = checked.flatMap(({ name, edits }) => edits.slice(at, at + 1).map((edit) => ({ name, edit })))
    change(tree, (edit) => leftOut.some((one) => one.edit === edit))
    const errors = compile(tree)
    for (const { name, edit } of leftOut) {
      const reported = errors.some((line) => line.startsWith(`${edit.reportedIn}(`) && line.includes(name))
      assert.ok(reported, `${name} without ${edit.file} compiles: ${errors.join('\n')}`)
    }
  }
}

const tree = mkdtempSync(join(tmpdir(), 'additions-'))
try {
  judge(tree)
} finally {
  rmSync(tree, { recursive: true })
}
