/**
 * Starts sandboxed programs and kills them again, many at a time, until it is killed itself. Says `ready` when it begins.
 * starts-children.ts FOLDER ARGUMENT: a folder for the list of plugins, and what `sleep` gets, by which the programs are found.
 */
import { runToEnd } from '../../../engine/gst/child.ts'
import { confineChildren } from '../../../engine/sandbox/confinement.ts'

const AT_A_TIME = 4
const LONGEST_MS = 40

const [folder = '', argument = ''] = process.argv.slice(2)
const { state } = await confineChildren('auto', folder, runToEnd)
process.stdout.write(state === 'on' ? 'ready\n' : `${state}\n`)

const startAgainAndAgain = async (): Promise<never> => {
  for (;;) await runToEnd('sleep', [argument], { timeoutMs: Math.random() * LONGEST_MS, reach: {} })
}

await Promise.all(Array.from({ length: AT_A_TIME }, startAgainAndAgain))
