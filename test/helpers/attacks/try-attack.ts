import { startChild } from '../../../engine/gst/child.ts'
import { toArguments } from '../../../engine/gst/element.ts'
import { advancedReach } from '../../../engine/launch/advanced-reach.ts'
import type { Confinement } from '../../../engine/sandbox/confinement.ts'
import type { Attack } from './attacks.ts'
import { CANARY, type Targets } from './targets.ts'

const LIMIT_MS = 4000

/** The canary in a text or a hex dump, whose lines break it at other places. */
export const showsCanary = (text: string): boolean => {
  if (text.includes(CANARY)) return true
  const bytes = text.replace(/^.*?\): ((?:[0-9a-f]{2} )+).*$/gm, '$1').replace(/[^0-9a-f]/g, '')
  return bytes.includes(Buffer.from(CANARY).toString('hex'))
}

/**
 * Runs the attack's description as the child of an advanced pipeline would be run, without any check of it before. Resolves to
 * what it achieved; empty: nothing. `reach` is that of an advanced pipeline unless given.
 */
export const tryAttack = async (
  attack: Attack & { kind: 'read' | 'write' },
  targets: Targets,
  reach?: Confinement,
): Promise<readonly string[]> => {
  const description = attack.description(targets)
  const named = description.includes('name=pay0')
  const line = named ? `${description} pay0. ! gdppay ! fdsink fd=3 async=false` : description
  const child = startChild('gst-launch-1.0', ['--', ...toArguments([line])], {
    mediaPipes: 1,
    reach: reach ?? advancedReach(description, undefined),
  })
  let text = ''
  let media = 0
  for (const output of [child.stdout, child.stderr])
    output.setEncoding('utf8').on('data', (part: string) => (text = `${text}${part}`.slice(-4_000_000)))
  child.media[0]?.on('data', (part: Buffer) => (media += part.length)).on('error', () => {})
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
  await child.ended
  clearTimeout(timer)
  return [
    ...(showsCanary(text) ? ['the canary came out'] : []),
    ...(media > 0 && attack.kind === 'read' ? ['the video came out'] : []),
    ...targets.damage(),
  ]
}
