// Makes the package of the service for npm on a host that has Node.js 24: `npm run package`.
//   node engine/deploy/package/service.ts [--stage FOLDER]
// It has the packages that cannot be bundled in it, for this platform, so that an installation needs neither a registry nor a script.
// --stage only lays out its files in a folder.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import packageJson from '../../../package.json' with { type: 'json' }
import { stage } from './stage.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

type Manifest = Readonly<Record<string, unknown>> & { readonly version?: string }

const readManifest = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const writeManifest = (folder: string, manifest: object): void =>
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)

/** The names of the packages that lie in a folder of packages. */
const packagesIn = (folder: string): readonly string[] => globSync(['*/package.json', '@*/*/package.json'], { cwd: folder }).map(dirname)

/** Without scripts, and without what npm would look for in a registry. */
const alone = ({ scripts, dependencies, optionalDependencies, peerDependencies, devDependencies, ...manifest }: Manifest): Manifest =>
  manifest

const layOut = (folder: string): void => {
  stage(folder)
  for (const name of packageJson.files.filter((file) => !file.startsWith('!') && file !== 'dist'))
    cpSync(join(ROOT, name), join(folder, name), {
      recursive: true,
      filter: (path) => !/\/(?:setup\.mjs|system-packages\.json|[^/]*\.ts)$/.test(path),
    })
  cpSync(join(ROOT, 'README.md'), join(folder, 'README.md'))
  const modules = join(folder, 'node_modules')
  for (const name of globSync('**/package.json', { cwd: modules }).map(dirname))
    writeManifest(join(modules, name), alone(readManifest(join(modules, name))))
  const versions = packagesIn(modules).map((name) => [name, readManifest(join(modules, name)).version] as const)
  writeManifest(folder, {
    ...alone(packageJson),
    os: [process.platform],
    cpu: [process.arch],
    dependencies: Object.fromEntries(versions),
    bundleDependencies: versions.map(([name]) => name),
  })
}

const pack = (): void => {
  const folder = mkdtempSync(join(tmpdir(), 'package-'))
  try {
    layOut(folder)
    execFileSync('npm', ['pack', '--ignore-scripts', folder], { cwd: ROOT, stdio: ['ignore', 1, 'ignore'] })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const { values } = parseArgs({ options: { stage: { type: 'string' } } })
if (values.stage === undefined) pack()
else layOut(resolve(values.stage))
