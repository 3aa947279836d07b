// Prepares a clean clone for `npm start` and `npm test`: system packages, npm packages, build.
// Runs with any Node version of the host (Node 24 comes with the npm packages), so it imports only node:*.
//   setup.mjs          what the service needs
//   setup.mjs --unit   what the unit tests and `npm pack` need: npm packages and the build, nothing of the system
//   setup.mjs --test   what all tests need
// SVC_NO_INSTALL=1 installs no system packages: a missing required one is an error, a missing recommended one a warning.

import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const modules = join(root, 'node_modules')
const forTests = process.argv.includes('--test')
const forUnitTests = process.argv.includes('--unit')
const mayInstall = process.env.SVC_NO_INSTALL !== '1'

/**
 * Debian package → whether it is installed, by a program on PATH, a GStreamer plugin or a typelib.
 * Checking files takes a millisecond, dpkg and gst-inspect most of a second.
 */
const PACKAGES = JSON.parse(readFileSync(join(root, 'engine/deploy/system-packages.json'), 'utf8'))
const CHECKS = { program, plugin, typelib, path: (path) => () => existsSync(path) }
const packagesOf = (use) =>
  Object.entries(PACKAGES[use]).map(([name, check]) => {
    const [[kind, value]] = Object.entries(check)
    return [name, CHECKS[kind](value)]
  })
const REQUIRED = packagesOf('required')
const RECOMMENDED = packagesOf('recommended')
const TESTS = packagesOf('tests')

function program(name) {
  return () => (process.env.PATH ?? '').split(':').some((folder) => folder !== '' && existsSync(join(folder, name)))
}

function libraryFolders() {
  const multiarch = ['/usr/lib', '/usr/local/lib'].flatMap((base) =>
    existsSync(base)
      ? readdirSync(base)
          .filter((name) => name.endsWith('-linux-gnu') || name.includes('-linux-gnueabi'))
          .map((name) => join(base, name))
      : [],
  )
  return [...multiarch, '/usr/lib', '/usr/lib64', '/usr/local/lib', '/usr/local/lib64']
}

function plugin(name) {
  return () => {
    const own = (process.env.GST_PLUGIN_SYSTEM_PATH_1_0 ?? process.env.GST_PLUGIN_PATH_1_0 ?? '').split(':').filter(Boolean)
    return [...own, ...libraryFolders().map((folder) => join(folder, 'gstreamer-1.0'))].some((folder) =>
      existsSync(join(folder, `libgst${name}.so`)),
    )
  }
}

function typelib(name) {
  return () => libraryFolders().some((folder) => existsSync(join(folder, 'girepository-1.0', `${name}.typelib`)))
}

const say = (line) => process.stderr.write(`set-up: ${line}\n`)

const stop = (line) => {
  say(line)
  process.exit(1)
}

const missing = (packages) => packages.filter(([, present]) => !present()).map(([name]) => name)

/** The prefix of apt-get: empty for root, sudo without a password, or undefined when this user cannot install packages. */
const aptPrefix = () => {
  if (!program('apt-get')()) return undefined
  if (process.getuid?.() === 0) return []
  return program('sudo')() && spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0 ? ['sudo', '-n'] : undefined
}

const run = (command, args, options = {}) => {
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], ...options })
  return result.status === 0
}

const installSystemPackages = () => {
  const required = missing([...REQUIRED, ...(forTests ? TESTS : [])])
  const recommended = missing(RECOMMENDED)
  const packages = [...required, ...recommended]
  if (packages.length === 0) return
  const byHand = `sudo apt-get install -y --no-install-recommends ${packages.join(' ')}`
  const prefix = mayInstall ? aptPrefix() : undefined
  if (prefix === undefined) {
    // The tests also need the recommended packages.
    if (required.length > 0 || forTests) stop(`missing system packages; install them with: ${byHand}`)
    say(`some features are not available; to enable them: ${byHand}`)
    return
  }
  say(`installing ${packages.join(' ')}`)
  const apt = (...args) =>
    run(
      prefix[0] ?? 'apt-get',
      [
        ...(prefix.length > 0 ? [...prefix.slice(1), 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get'] : []),
        '-qq',
        '-o',
        'DPkg::Lock::Timeout=300',
        ...args,
      ],
      {
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      },
    )
  const done = apt('update') && apt('install', '-y', '--no-install-recommends', ...packages)
  const stillMissing = missing([...REQUIRED, ...RECOMMENDED, ...(forTests ? TESTS : [])])
  if (!done || stillMissing.length > 0)
    stop(`system packages could not be installed (${stillMissing.join(' ') || 'apt-get failed'}); install them with: ${byHand}`)
}

const installNodePackages = (folder) => {
  const stamp = join(folder, 'node_modules', '.set-up-stamp')
  const hash = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return
  say(`installing npm packages${folder === root ? '' : ' of third parties for the tests'}`)
  // All packages contain their binaries, so no install script has to run.
  if (!run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder }))
    stop('npm ci failed; see above')
  writeFileSync(stamp, hash)
}

const sourcesFingerprint = () => {
  const files = ['handlers', 'lib', 'engine', 'db'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name)),
  )
  const hash = createHash('sha256')
  for (const file of [...files, join(root, 'build.mjs'), join(root, 'package.json'), join(root, 'package-lock.json')].sort()) {
    const { mtimeMs, size } = statSync(file)
    hash.update(`${file}\0${mtimeMs}\0${size}\n`)
  }
  return hash.digest('hex')
}

const build = () => {
  const stamp = join(root, 'dist', '.built-from')
  const fingerprint = sourcesFingerprint()
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint) return
  if (!run(join(modules, '.bin', 'node'), [join(root, 'build.mjs')])) stop('the build failed; see above')
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, fingerprint)
}

/** Makes `npx video-pipeline-service` run the build of this clone. `npm ci` removes it. */
const linkCommand = () => {
  const link = join(modules, '.bin', 'video-pipeline-service')
  if (!existsSync(link)) symlinkSync('../../dist/cli.js', link)
}

const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** One set-up at a time in a clone: `npm start` and `npm test` may be called together. */
const withLock = (work) => {
  const lock = join(root, '.set-up-lock')
  const deadline = Date.now() + 600_000
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      const owner = existsSync(lock) ? Number(readFileSync(lock, 'utf8')) : 0
      if (owner > 0 && !isAlive(owner)) rmSync(lock, { force: true })
      else if (Date.now() > deadline)
        stop(`another set-up (process ${owner}) is still running after 10 minutes; if it hangs, end it and remove .set-up-lock`)
      else execFileSync('sleep', ['0.2'])
    }
  }
  try {
    process.on('exit', () => rmSync(lock, { force: true }))
    work()
  } finally {
    rmSync(lock, { force: true })
  }
}

withLock(() => {
  if (!forUnitTests) installSystemPackages()
  installNodePackages(root)
  if (forTests) installNodePackages(join(root, 'test', 'fixtures', 'third-party'))
  build()
  linkCommand()
})
