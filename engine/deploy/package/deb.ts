// Makes a Debian package of the service with its own Node.js: `npm run deb`.
//   node engine/deploy/package/deb.ts [--stage FOLDER]
// --stage only lays out its files in a folder.
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import packageJson from '../../../package.json' with { type: 'json' }
import { apiUnit, engineUnit, LAYOUT } from '../install/units.ts'
import systemPackages from '../system-packages.json' with { type: 'json' }
import { DPKG_SCRIPTS } from './deb-scripts.ts'
import { stage } from './stage.ts'

const NAME = packageJson.name
/** Where the files of the package are on the host. */
const INSTALLED = `/usr/lib/${NAME}`
const UNITS = '/lib/systemd/system'
const PROGRAM = { node: `${INSTALLED}/bin/node`, entry: `${INSTALLED}/dist/cli.js` }

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** deb-control(5). The packages come with the set-up of a clone; systemd and passwd with what makes users and units. */
const controlFile = (architecture: string, installedKilobytes: number): string =>
  [
    `Package: ${NAME}`,
    `Version: ${packageJson.version}`,
    `Architecture: ${architecture}`,
    'Maintainer: the video-pipeline-service authors <root@localhost>',
    `Installed-Size: ${installedKilobytes}`,
    `Depends: ${['libc6', 'libstdc++6', 'ca-certificates', 'passwd', 'systemd', ...Object.keys(systemPackages.required)].join(', ')}`,
    `Recommends: ${Object.keys(systemPackages.recommended).join(', ')}`,
    'Section: video',
    'Priority: optional',
    `Description: ${packageJson.description}`,
    ' A pipeline takes the stream of a camera or a drone, encodes it again if asked, and serves it as RTSP.',
    ' Two systemd units, API and engine, with a user each; configuration in /etc/video-pipeline-service.',
    '',
  ].join('\n')

const write = (path: string, text: string, mode = 0o644): void => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  writeFileSync(path, text)
  chmodSync(path, mode)
}

const kilobytesOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).reduce(
    (total, name) => total + Math.ceil(lstatSync(join(folder, name)).size / 1024),
    0,
  )

/** The tree that dpkg-deb packs. */
const layOut = (root: string, architecture: string): void => {
  stage(join(root, INSTALLED))
  const node = `node-linux-${process.arch}/bin/node`
  mkdirSync(join(root, INSTALLED, 'bin'))
  cpSync(resolve(import.meta.dirname, '../../../node_modules', node), join(root, PROGRAM.node))
  mkdirSync(join(root, 'usr/bin'), { recursive: true })
  write(join(root, 'usr/bin', NAME), `#!/bin/sh\nexec ${PROGRAM.node} ${PROGRAM.entry} "$@"\n`, 0o755)
  write(join(root, UNITS, LAYOUT.engineUnit), engineUnit(PROGRAM))
  write(join(root, UNITS, LAYOUT.apiUnit), apiUnit(PROGRAM))
  mkdirSync(join(root, 'usr/share/doc', NAME), { recursive: true })
  symlinkSync(`${INSTALLED}/LICENSE`, join(root, 'usr/share/doc', NAME, 'copyright'))
  for (const [name, text] of Object.entries(DPKG_SCRIPTS)) write(join(root, 'DEBIAN', name), text, 0o755)
  write(join(root, 'DEBIAN/control'), controlFile(architecture, kilobytesOf(root)))
}

const main = (): void => {
  const { values } = parseArgs({ options: { stage: { type: 'string' } } })
  const architecture = ARCHITECTURES[process.arch]
  if (architecture === undefined) throw new Error(`There is no Debian package for ${process.arch}`)
  if (values.stage === undefined) pack(architecture)
  else layOut(resolve(values.stage), architecture)
}

const pack = (architecture: string): void => {
  const root = mkdtempSync(join(tmpdir(), 'deb-'))
  try {
    chmodSync(root, 0o755)
    layOut(root, architecture)
    const file = `${NAME}_${packageJson.version}_${architecture}.deb`
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zzstd', '--build', root, file], { stdio: ['ignore', 2, 2] })
    process.stdout.write(`${file}\n`)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

main()
