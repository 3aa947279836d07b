/**
 * Kills sandboxed programs at random moments of their start, and the process that starts them: how many go on or hang, and how many
 * are left when the next engine has looked for them.
 * orphans [KILLS of each kind] [SPAN in ms]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runToEnd } from '../../engine/gst/child.ts'
import { confineChildren } from '../../engine/sandbox/confinement.ts'
import { killLeftovers } from '../../engine/sandbox/leftovers.ts'
import { sleep } from '../helpers/bench/measure.ts'
import { KILLS, killStarter, marked, markedSleep } from '../helpers/process/ended-starts.ts'

const [times = 1000, spanMs = 30] = process.argv.slice(2).map(Number)
const AT_A_TIME = 10
/** Programs that die with their parent are gone by then. */
const SETTLE_MS = 100

const folder = mkdtempSync(join(tmpdir(), 'orphans-'))
const { state } = await confineChildren('auto', folder, runToEnd)
let left = 0

for (const [name, kill] of Object.entries(KILLS)) {
  const argument = markedSleep()
  let hung = 0
  for (let done = 0; done < times; done += AT_A_TIME) {
    const ended = await Promise.all(Array.from({ length: AT_A_TIME }, () => kill(argument, Math.random() * spanMs)))
    hung += ended.filter((each) => !each).length
  }
  const orphans = marked(argument)
  left += orphans.length + hung
  console.log(JSON.stringify({ sandbox: state, killed: name, times, hung, orphans: orphans.length }))
  for (const pid of orphans) process.kill(pid, 'SIGKILL')
}

const argument = markedSleep()
let orphans = 0
let stayed = 0
for (let done = 0; done < times / 4; done += 1) {
  await killStarter(folder, argument, Math.random() * spanMs)
  await sleep(SETTLE_MS)
  orphans += marked(argument).length
  await killLeftovers()
  stayed += marked(argument).length
}
left += stayed
console.log(JSON.stringify({ sandbox: state, killed: 'the process that starts them', times: times / 4, orphans, left_by_the_next: stayed }))
rmSync(folder, { recursive: true })
process.exitCode = left > 0 ? 1 : 0
