import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

const SCRIPT = resolve(import.meta.dirname, '../../../engine/deploy/setup.mjs')

/** Installs what is missing and builds the service from the present sources. */
export const setUp = (level: '--unit' | '--test'): void => {
  execFileSync(process.execPath, [SCRIPT, level], { stdio: 'inherit' })
}
