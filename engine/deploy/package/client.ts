// Makes the package of the client alone, without dependencies: `npm run client`.
//   node engine/deploy/package/client.ts [--stage FOLDER]
// --stage only lays out its files in a folder. Needs the bundles and the declarations of build.mjs.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import packageJson from '../../../package.json' with { type: 'json' }

const ROOT = resolve(import.meta.dirname, '../../..')
const TYPES = join(ROOT, 'dist/types')
const ENTRY = 'handlers/client/client.d.ts'
/** The types of the schemas refer to it; only its declarations are in the package. */
const VENDORED = { name: 'valibot', from: 'dist/index.d.mts', to: 'vendor/valibot.d.ts' } as const

const MANIFEST = {
  name: 'video-pipeline-client',
  version: packageJson.version,
  description: 'Typed client of the API of video-pipeline-service, for Node.js, browsers and workers',
  license: packageJson.license,
  type: 'module',
  exports: { '.': { types: `./types/${ENTRY}`, default: './client.js' } },
  types: `./types/${ENTRY}`,
  files: ['client.js', 'types'],
}

/** The section of the documents about the client. */
const readme = (): string => {
  const page = readFileSync(join(ROOT, 'docs/embedding.md'), 'utf8')
  const section = page.slice(page.indexOf('## Client\n'), page.indexOf('\n## ', page.indexOf('## Client\n') + 1))
  return `# ${MANIFEST.name}\n${section.slice('## Client\n'.length).replaceAll('video-pipeline-service/client', MANIFEST.name)}\n`
}

/** Copies a declaration and those that it refers to. */
const copyTypes = (file: string, folder: string, done = new Set<string>()): void => {
  if (done.has(file)) return
  done.add(file)
  const vendored = `./${relative(dirname(file), VENDORED.to.replace(/\.d\.ts$/, '.js'))}`.replace(/^\.\/\.\./, '..')
  const text = readFileSync(join(TYPES, file), 'utf8').replaceAll(`'${VENDORED.name}'`, `'${vendored}'`)
  mkdirSync(join(folder, dirname(file)), { recursive: true })
  writeFileSync(join(folder, file), text)
  for (const [, name = ''] of text.matchAll(/(?:\bfrom |\bimport\()['"](\.[^'"]+)\.ts['"]/g)) {
    copyTypes(`${join(dirname(file), name)}.d.ts`, folder, done)
  }
}

const layOut = (folder: string): void => {
  mkdirSync(join(folder, 'types/vendor'), { recursive: true })
  copyTypes(ENTRY, join(folder, 'types'))
  const vendored = join(ROOT, 'node_modules', VENDORED.name)
  cpSync(join(vendored, VENDORED.from), join(folder, 'types', VENDORED.to))
  cpSync(join(vendored, 'LICENSE.md'), join(folder, 'types/vendor/valibot-LICENSE.md'))
  cpSync(join(ROOT, 'dist/client.js'), join(folder, 'client.js'))
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(join(folder, 'README.md'), readme())
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(MANIFEST, null, 2)}\n`)
}

const pack = (): void => {
  const folder = mkdtempSync(join(tmpdir(), 'client-'))
  try {
    layOut(folder)
    execFileSync('npm', ['pack', folder], { cwd: ROOT, stdio: ['ignore', 1, 'ignore'] })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const { values } = parseArgs({ options: { stage: { type: 'string' } } })
if (values.stage === undefined) pack()
else layOut(resolve(values.stage))
