import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../../..')

/** The built service as another release has it: in a folder of its own, with another version and, if given, another engine protocol. */
export const buildOther = (version: string, protocol?: number): { readonly entry: string; readonly folder: string } => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-build-'))
  const dist = join(folder, 'dist')
  mkdirSync(dist)
  cpSync(join(ROOT, 'dist'), dist, { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const { version: own } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  let changed = { version: 0, protocol: 0 }
  for (const name of readdirSync(dist).filter((file) => file.endsWith('.js'))) {
    const text = readFileSync(join(dist, name), 'utf8')
    const other = text
      .replace(`version: "${own}"`, () => {
        changed = { ...changed, version: changed.version + 1 }
        return `version: "${version}"`
      })
      .replace(/ENGINE_PROTOCOL = \d+/, (same) => {
        changed = { ...changed, protocol: changed.protocol + 1 }
        return protocol === undefined ? same : `ENGINE_PROTOCOL = ${protocol}`
      })
    if (other !== text) writeFileSync(join(dist, name), other)
  }
  if (changed.version === 0 || changed.protocol === 0) throw new Error('the bundles have no version or no protocol to change')
  return { entry: join(dist, 'node.js'), folder }
}
