import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

/** Tests of the built service need it built from the present sources. */
export default (): void => {
  execFileSync(process.execPath, [resolve(import.meta.dirname, '../../../engine/deploy/setup.mjs'), '--test'], { stdio: 'inherit' })
}
