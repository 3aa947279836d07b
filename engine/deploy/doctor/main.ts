import { type Configuration, readConfiguration } from '../../../lib/configuration/configuration.ts'
import { runToEnd } from '../../gst/child.ts'
import { checkGstreamer } from './gstreamer.ts'
import { checkHost } from './host.ts'
import { type Finding, reportText, toReport } from './report.ts'
import { checkSandbox } from './sandbox.ts'
import { checkStores } from './stores.ts'

const checkConfigured = async (configuration: Configuration): Promise<readonly Finding[]> => [
  ...(await checkHost(configuration)),
  ...(await checkStores(configuration, { now: Date.now })),
  ...(await checkSandbox(configuration, runToEnd)),
]

/** Checks whether the service can work on this host and prints a report; exit code 1 when it cannot. */
const main = async (): Promise<void> => {
  const configuration = readConfiguration(process.env)
  const wrong = 'mistakes' in configuration ? configuration.mistakes : []
  const mistakes = wrong.map((mistake): Finding => ({ name: 'configuration', status: 'failed', message: mistake }))
  const host = 'mistakes' in configuration ? [] : await checkConfigured(configuration)
  const report = toReport([...mistakes, ...host, ...(await checkGstreamer(runToEnd))])
  process.stdout.write(process.argv.includes('--json') ? `${JSON.stringify(report, null, 2)}\n` : reportText(report))
  process.exitCode = report.status === 'failed' ? 1 : 0
}

await main()
