/** 200 random operations of 10 clients at once per seed; tells what is not as it must be. random-operations [SEED …] */
import { runRandomOperations } from '../helpers/api/random-operations.ts'
import { withService } from '../helpers/bench/service-run.ts'

const seeds = process.argv.length > 2 ? process.argv.slice(2).map(Number) : Array.from({ length: 10 }, (_, at) => at + 1)
let faults = 0

for (const seed of seeds) {
  const began = performance.now()
  await withService(async (service) => {
    const report = await runRandomOperations(service, { seed, operations: 200, clients: 10, outputs: { first: 20_000, last: 20_999 } })
    faults += report.faults.length
    console.log(JSON.stringify({ seed, seconds: Math.round((performance.now() - began) / 100) / 10, ...report }))
    if (report.faults.length > 0)
      console.log(
        service.log
          .filter((line) => /"level":"(?:warn|error)"/.test(line))
          .slice(-40)
          .join('\n'),
      )
  })
}
process.exitCode = faults === 0 ? 0 : 1
