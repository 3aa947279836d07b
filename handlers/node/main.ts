import { Shutdown } from './shutdown.ts'

// First, so that a signal during the load ends the process in order. A closed terminal must not end it.
const shutdown = new Shutdown().onSignals()
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const { run } = await import('./run.ts')
await run(process.argv.slice(2), shutdown)
