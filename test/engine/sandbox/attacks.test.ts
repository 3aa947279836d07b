import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runToEnd } from '../../../engine/gst/child.ts'
import { confineChildren } from '../../../engine/sandbox/confinement.ts'
import { ATTACKS } from '../../helpers/attacks/attacks.ts'
import { createTargets, type Targets } from '../../helpers/attacks/targets.ts'
import { tryAttack } from '../../helpers/attacks/try-attack.ts'

/** One of each kind; `npm run test:long attacks` tries all of them in four places. */
const ESSENTIAL = [
  'filesrc',
  'urisourcebin with octal escapes',
  'an HLS playlist in uridecodebin3',
  'the root of the first process',
  'filesink',
  'dump of x264enc',
  'a library',
  'recovery of qtmoovrecover',
  'the desktop',
  'kernel settings',
]

let targets: Targets
const folder = mkdtempSync(join(homedir(), '.attacks-test-'))

beforeAll(async () => {
  targets = await createTargets(join(folder, 'targets'))
  expect(await confineChildren('required', folder, runToEnd)).toMatchObject({ state: 'on' })
})

afterAll(async () => {
  await confineChildren('off', folder, runToEnd)
  targets.close()
  rmSync(folder, { recursive: true })
})

it.each(ATTACKS.filter(({ name }) => ESSENTIAL.includes(name)))('a sandbox contains an attack by $name', async (attack) => {
  expect(await tryAttack(attack, targets)).toEqual([])
})

it('the attacks work where there is no sandbox', async () => {
  for (const name of ['filesrc', 'filesink', 'dump of x264enc', 'the desktop']) {
    const attack = ATTACKS.find((one) => one.name === name)
    expect([name, attack && (await tryAttack(attack, targets, 'host')).length > 0]).toEqual([name, true])
    targets.reset()
  }
})
