// Lays out what a host needs to run the service: the bundles, and the packages that cannot be bundled. Run by Node.js itself.
//   node engine/deploy/package/stage.ts FOLDER
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = resolve(import.meta.dirname, '../../..')
/** Native add-ons, and the assets of the API explorer. */
const NOT_BUNDLED = ['libsql', '@node-rs/argon2', 'koffi', 'node-datachannel', 'swagger-ui-dist']
/** Sends the address of the host to its maker when it is installed, and has no other use. */
const LEFT_OUT = '@scarf/scarf'

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** The packages and what they need, as far as it is installed: of binaries only those of this platform are. */
const withDependencies = (names: readonly string[], found = new Set<string>()): ReadonlySet<string> => {
  for (const name of names) {
    const folder = join(ROOT, 'node_modules', name)
    if (found.has(name) || name === LEFT_OUT || !existsSync(folder)) continue
    found.add(name)
    const { dependencies, optionalDependencies } = manifestOf(folder)
    withDependencies(Object.keys({ ...dependencies, ...optionalDependencies }), found)
  }
  return found
}

export const stage = (folder: string): void => {
  mkdirSync(folder, { recursive: true })
  const isShipped = (path: string): boolean => !path.endsWith('.map') && !path.endsWith('/.built-from')
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true, filter: isShipped })
  for (const name of ['package.json', 'LICENSE']) cpSync(join(ROOT, name), join(folder, name))
  for (const name of withDependencies(NOT_BUNDLED))
    cpSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name), { recursive: true, filter: isShipped })
}

const [, script, folder] = process.argv
if (script === fileURLToPath(import.meta.url)) {
  if (folder === undefined) throw new Error('usage: stage.ts FOLDER')
  stage(resolve(folder))
}
