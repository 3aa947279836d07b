import { readConfiguration } from '../../../lib/configuration.ts'
import { runToEnd } from '../../gst/child.ts'
import { checkHost } from './host.ts'
import { checkMedia } from './media.ts'
import { type Finding, reportText, toReport } from './report.ts'

/** Looks at this host as the service would use it and prints what it can do; exit code 1 when the service would not work. */
const main = async (): Promise<void> => {
  const configuration = readConfiguration(process.env)
  const wrong = 'mistakes' in configuration ? configuration.mistakes : []
  const mistakes = wrong.map((mistake): Finding => ({ name: 'configuration', status: 'failed', message: mistake }))
  const host = 'mistakes' in configuration ? [] : await checkHost(configuration)
  const report = toReport([...mistakes, ...host, ...(await checkMedia(runToEnd))])
  process.stdout.write(process.argv.includes('--json') ? `${JSON.stringify(report, null, 2)}\n` : reportText(report))
  process.exitCode = report.status === 'failed' ? 1 : 0
}

await main()
