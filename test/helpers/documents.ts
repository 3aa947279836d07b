import { readdirSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

export const readDocument = (name: string): string => readFileSync(resolve(ROOT, name), 'utf8')

const PAGES = readdirSync(resolve(ROOT, 'docs')).filter((name) => name.endsWith('.md'))

/** What users read: the README and the pages that it leads to. */
export const USER_DOCUMENTS: readonly string[] = ['README.md', ...PAGES.map((name) => `docs/${name}`)]

/** All TypeScript and SQL of the product, as one text. */
export const readSources = (): string =>
  ['db', 'engine', 'handlers', 'lib']
    .flatMap((folder) => readdirSync(resolve(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && /\.(?:ts|tsx|sql)$/.test(entry.name))
    .map((entry) => readFileSync(resolve(entry.parentPath, entry.name), 'utf8'))
    .join('\n')

/** The text below a heading such as `## KLV`, up to the next heading of the same or a higher level. Throws when there is none. */
export const section = (document: string, heading: string): string => {
  const [level = '#'] = heading.split(' ')
  const [, text] = document.split(`\n${heading}\n`)
  if (text === undefined) throw new Error(`The document has no heading ${heading}`)
  // A comment in a code block is no heading.
  const ends = new RegExp(`^(?:#{1,${level.length}} .*|\`\`\`[\\s\\S]*?^\`\`\`)$`, 'gm')
  const [end] = [...text.matchAll(ends)].filter(([found]) => found.startsWith('#'))
  return text.slice(0, end?.index)
}

/** The contents of fenced code blocks of a language. */
export const codeBlocks = (text: string, language: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, block = '']) => block.trimEnd())

/** The commands of the sh blocks, one each: an indented line continues the one before. */
export const shellCommands = (text: string): readonly string[] => codeBlocks(text, 'sh').flatMap((block) => block.split(/\n(?=\S)/))

/** The cells of each table row, without the backslashes that keep Markdown from reading `<` as HTML. */
export const tableRows = (text: string): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .slice(2, -2)
        .split(' | ')
        .map((cell) => cell.replaceAll('\\<', '<')),
    )

/** Inline code, without the code blocks. */
export const inlineCode = (text: string): readonly string[] =>
  [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)

const TOP_LEVEL = /^(?:\.ci|db|docs|engine|handlers|lib|test)\/|^[\w.-]+\.(?:json|md|mjs|ts)$/

/** The files and folders of this repository that inline code names; `{a,b}` names several, `<name>` and `…` stand for any. */
export const namedPaths = (text: string): readonly string[] =>
  inlineCode(text)
    .filter((code) => TOP_LEVEL.test(code) && !/[\s<>…*]/.test(code))
    .flatMap(expandBraces)

const expandBraces = (path: string): readonly string[] => {
  const [whole, before = '', names = '', after = ''] = /^(.*?)\{([^}]*)\}(.*)$/.exec(path) ?? []
  return whole === undefined ? [path] : names.split(',').flatMap((name) => expandBraces(`${before}${name}${after}`))
}

/** Links to other files of this repository and to headings, `docs/klv.md#footprints`, by their path from its root. */
export const links = (document: string): readonly { readonly file: string; readonly heading: string }[] =>
  [...readDocument(document).matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)].map(([, path = '', heading = '']) => ({
    file: path === '' ? document : relative(ROOT, resolve(ROOT, dirname(document), path)),
    heading,
  }))

/** Lines that are too long, with their numbers. */
export const longLines = (document: string, columns: number): readonly string[] =>
  document.split('\n').flatMap((line, at) => ([...line].length > columns ? [`${at + 1}: ${line}`] : []))
