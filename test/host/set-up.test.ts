import { spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'

const SCRIPT = resolve(import.meta.dirname, '../../engine/deploy/setup.mjs')

/** Set-up on a host that has these programs, and neither apt-get nor sudo. */
const setUp = (programs: readonly string[]) => {
  const path = temporaryDataDir()
  for (const program of ['sleep', ...programs]) symlinkSync(`/usr/bin/${program}`, join(path, program))
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT], { env: { PATH: path }, encoding: 'utf8' })
  return { status, said: stderr.trim() }
}

it('goes on without packages that are recommended, and stops without those that are required', () => {
  const byHand = (name: string) => expect.stringContaining(`sudo apt-get install -y --no-install-recommends ${name}`)
  const recommended = ['gst-device-monitor-1.0', 'v4l2-ctl']
  expect(setUp(['gst-launch-1.0', 'setpriv', ...recommended])).toEqual({ status: 0, said: byHand('bubblewrap') })
  expect(setUp(['bwrap', 'setpriv', ...recommended])).toEqual({ status: 1, said: byHand('gstreamer1.0-tools') })
})
