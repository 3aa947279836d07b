import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')
export const thirdParty = createRequire(resolve(ROOT, 'test/fixtures/third-party/package.json'))
export const LINEAR_EXPRESSIONS = resolve(ROOT, 'test/fixtures/linear-expressions.json')

/** The regular expressions of the product, as they are written, and the file of each. */
export const productExpressions = (): ReadonlyMap<string, string> => {
  // biome-ignore lint/suspicious/noExplicitAny: the packages of the fixture have no types here
  const ts = thirdParty('typescript') as any
  const found = new Map<string, string>()
  for (const file of globSync('{handlers,lib,engine,db}/**/*.{ts,tsx}', { cwd: ROOT }).sort()) {
    // biome-ignore lint/suspicious/noExplicitAny: a node of the compiler
    const visit = (node: any): void => {
      if (node.kind === ts.SyntaxKind.RegularExpressionLiteral) found.set(node.text, file)
      ts.forEachChild(node, visit)
    }
    visit(ts.createSourceFile(file, readFileSync(resolve(ROOT, file), 'utf8'), ts.ScriptTarget.Latest))
  }
  return found
}

/** Those that the analyser has found to take linear time. */
export const linearExpressions = (): ReadonlySet<string> => new Set(JSON.parse(readFileSync(LINEAR_EXPRESSIONS, 'utf8')) as string[])
