// Bundles the service with esbuild and checks on the way that imports only point where the layers allow.
//   node build.mjs           dist/handlers/<group>.js, dist/app.js, dist/worker.js (neutral), dist/node.js, dist/service.js, dist/engine.js, dist/cli.js … (Node)
//   node build.mjs --check   the layer check alone, nothing is written
//   node build.mjs --declarations   dist/types, for programs that embed the package
import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = dirname(fileURLToPath(import.meta.url))

/** Hosts wire things together; the other files of handlers/ are neutral. */
const HOSTS = ['handlers/node.ts', 'handlers/worker.ts']
const NOT_A_GROUP = [...HOSTS, 'handlers/app.ts', 'handlers/router.ts', 'handlers/sse.ts']

/**
 * What a file may import, first rule that fits decides: hosts → handlers → lib ← engine, lib ← db.
 * `only`: nobody but these files may import the target.
 */
const LAYERS = [
  { from: /^handlers\/(node|worker)\.ts$|^handlers\/node\//, to: [/^handlers\//, /^lib\//, /^db\//, /^package\.json$/] },
  { from: /^handlers\//, to: [/^handlers\/(?!node\.ts|worker\.ts|node\/)/, /^lib\//] },
  { from: /^lib\//, to: [/^lib\//] },
  { from: /^db\//, to: [/^db\//, /^lib\//] },
  { from: /^engine\/klv\//, to: [/^engine\/klv\//, /^lib\/schema\//] },
  { from: /^engine\/rtp\//, to: [/^engine\/rtp\//, /^lib\//] },
  {
    from: /^engine\/rtsp\/client\.ts$/,
    to: [/^engine\/(rtsp|rtp)\//, /^engine\/sources\/(address|authorization)\.ts$/, /^engine\/fault\.ts$/, /^lib\//],
  },
  { from: /^engine\/rtsp\//, to: [/^engine\/(rtsp|rtp)\//, /^engine\/fault\.ts$/, /^lib\//] },
  { from: /^engine\//, to: [/^engine\//, /^lib\//, /^package\.json$/] },
]
const NEUTRAL = /^(lib|db)\/|^engine\/klv\/|^handlers\/(?!node\.ts|node\/)/
const ONLY = [{ target: /^execa$/, from: /^engine\/child\.ts$/ }]

/** The imports of an esbuild metafile that the layers forbid, as readable lines. */
export const layerViolations = (metafile) => {
  const ours = Object.entries(metafile.inputs).filter(([file]) => !file.startsWith('node_modules/'))
  return ours.flatMap(([file, { imports }]) =>
    imports.flatMap(({ path, external, original }) => {
      const layer = LAYERS.find(({ from }) => from.test(file))
      if (layer === undefined) return []
      const bare = external === true || path.startsWith('node_modules/')
      const name = original ?? path
      const complaints = []
      if (bare && name.startsWith('node:') && NEUTRAL.test(file)) complaints.push(`${file} imports ${name}: this folder is runtime-neutral`)
      if (bare && ONLY.some(({ target, from }) => target.test(name) && !from.test(file)))
        complaints.push(`${file} imports ${name}: only one file may`)
      if (!bare && !path.startsWith('node_modules/') && !layer.to.some((allowed) => allowed.test(path)))
        complaints.push(`${file} imports ${path}: the layers forbid it`)
      return complaints
    }),
  )
}

const groups = () =>
  readdirSync(join(root, 'handlers'))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `handlers/${name}`)
    .filter((file) => !NOT_A_GROUP.includes(file))

const shared = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  target: 'es2024',
  outdir: 'dist',
  outbase: '.',
  metafile: true,
  sourcemap: 'linked',
  legalComments: 'none',
  loader: { '.sql': 'text' },
  logLevel: 'warning',
}

const neutral = {
  ...shared,
  platform: 'neutral',
  mainFields: ['browser', 'module', 'main'],
  conditions: ['workerd', 'worker', 'import'],
}

const bundles = () => [
  {
    ...neutral,
    // Groups that are used together share what they have in common.
    splitting: true,
    entryPoints: Object.fromEntries([['app', 'handlers/app.ts'], ...groups().map((file) => [file.replace(/\.ts$/, ''), file])]),
  },
  // One file, as worker runtimes take it.
  { ...neutral, entryPoints: { worker: 'handlers/worker.ts' } },
  {
    ...shared,
    platform: 'node',
    splitting: true,
    target: 'node24',
    // Native add-ons cannot be bundled; everything else is, which halves the start time.
    external: ['libsql', '@node-rs/argon2'],
    banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
    entryPoints: {
      node: 'handlers/node.ts',
      service: 'handlers/node/service.ts',
      engine: 'engine/main.ts',
      // The command, and what it loads when asked for.
      cli: 'handlers/node/cli.ts',
      doctor: 'engine/doctor/main.ts',
      openapi: 'handlers/node/print-openapi.ts',
      install: 'handlers/node/install/main.ts',
    },
  },
]

/** dist/cli.js can be run as it is, from a checkout too. */
const makeCommand = () => {
  const file = join(root, 'dist', 'cli.js')
  writeFileSync(file, `#!/usr/bin/env node\n${readFileSync(file, 'utf8')}`)
  chmodSync(file, 0o755)
}

/** What an earlier build left. After the new files are there, so that whoever starts meanwhile finds one or the other. */
const removeStale = (outputs) => {
  const kept = new Set(outputs)
  const present = readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const entry of present) {
    const file = relative(root, join(entry.parentPath, entry.name))
    if (!kept.has(file) && /\.js(\.map)?$/.test(file)) rmSync(join(root, file))
  }
}

/** The declarations of what the package exports, into dist/types. */
const emitDeclarations = () => {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  execFileSync(process.execPath, [tsc, '-p', join(root, 'engine', 'deploy', 'tsconfig.declarations.json')], { stdio: 'inherit' })
}

const main = async () => {
  if (process.argv.includes('--declarations')) return emitDeclarations()
  const checkOnly = process.argv.includes('--check')
  const results = await Promise.all(bundles().map((options) => build({ ...options, write: !checkOnly })))
  if (!checkOnly) {
    makeCommand()
    removeStale(results.flatMap(({ metafile }) => Object.keys(metafile.outputs)))
  }
  const violations = [...new Set(results.flatMap(({ metafile }) => layerViolations(metafile)))]
  for (const line of violations) process.stderr.write(`layer check: ${line}\n`)
  if (violations.length > 0) process.exit(1)
}

if (process.argv[1] !== undefined && relative(process.argv[1], fileURLToPath(import.meta.url)) === '') await main()
