/**
 * Random histories of a fleet: documents (also invalid, refused in part, create-only, removed), partitions, restarts, changes by people
 * on the hosts, and a server that is killed or loses its store. Agents, API, database and NATS are real, the engines have no media,
 * and timers run 20 times faster. histories [HISTORIES = 10000] [SEED] [HOSTS = 24]
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { runTimersFaster } from '../../helpers/nats/fast-time.ts'

// The migrations are text, as the builds of service and tests read them.
registerHooks({
  load: (url, context, next) =>
    /\.sql(?:\?|$)/.test(url)
      ? { format: 'module', shortCircuit: true, source: `export default ${JSON.stringify(readFileSync(fileURLToPath(url), 'utf8'))}` }
      : next(url, context),
})
const { runHistories } = await import('../../helpers/nats/run-histories.ts')

const [histories = 10_000, seed = Date.now() % 1e9, hosts = 24] = process.argv.slice(2).map(Number)
process.stdout.write(`seed ${seed}\n`)
const begun = performance.now()
const seconds = (): number => Math.round((performance.now() - begun) / 1000)
runTimersFaster(20)
const report = await runHistories({ histories, seed, hosts, killEvery: 60 })
process.stdout.write(`${JSON.stringify({ ...report, seconds: seconds() / 20 })}\n`)
assert.deepEqual(report.faults, [])
process.exit()
