import { Shutdown } from './shutdown.ts'

// First of all: a signal while the rest is loaded ends this process in order. A terminal that is gone must not end it otherwise.
const shutdown = new Shutdown().onSignals()
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const { run } = await import('./run.ts')
await run(process.argv.slice(2), shutdown)
