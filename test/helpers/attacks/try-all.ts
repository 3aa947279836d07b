// A program: tries all attacks as the user and in the confinement it was started in, and prints a line of JSON for each.
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runToEnd } from '../../../engine/gst/child.ts'
import { confineChildren } from '../../../engine/sandbox/confinement.ts'
import { withholdInherited } from '../../../engine/sandbox/inherited.ts'
import { type Service, startService } from '../process/service.ts'
import { until } from '../until.ts'
import { ATTACKS, HARMFUL } from './attacks.ts'
import { createTargets, type Targets } from './targets.ts'
import { showsCanary, tryAttack } from './try-attack.ts'

const [folder = ''] = process.argv.slice(2)

/** Sources of simple pipelines; `file` sources are off. */
const SOURCES: Readonly<Record<string, (targets: Targets) => string>> = {
  'simple: a file': ({ video }) => `file://${video}`,
  'simple: an HLS playlist': ({ web }) => `${web}/segments.m3u8`,
  'simple: an HLS variant': ({ web }) => `${web}/variant.m3u8`,
  'simple: an HLS map': ({ web }) => `${web}/map.m3u8`,
  'simple: an HLS key': ({ web }) => `${web}/key.m3u8`,
  'simple: a DASH manifest': ({ web }) => `${web}/manifest.mpd`,
  'simple: a list of addresses': ({ web }) => `${web}/list.m3u`,
  'simple: a redirect': ({ web }) => `${web}/redirect`,
}

const outcome = (achieved: readonly string[]): string => (achieved.length === 0 ? 'contained' : `open: ${achieved.join(', ')}`)

/** Creates the pipeline, as a client would, and removes it again. */
const throughApi = async (service: Service, targets: Targets, configuration: Record<string, unknown>, isRead: boolean): Promise<string> => {
  const created = await service.request('POST', '/svc/pipeline', { id: 'attack', ...configuration })
  if (created.status === 400) return 'refused'
  if (created.status === 403) return `refused (${created.body.details.reason})`
  // Such as an engine that is not there, or a dry run that had no time: that says nothing about the attack.
  if (created.status === 503) return `not tried (${created.body.details.reason})`
  const [log, pipeline] = await Promise.all(
    ['/svc/pipeline/attack/log', '/svc/pipeline/attack'].map((path) => service.request('GET', path)),
  )
  const achieved = [
    ...(showsCanary(JSON.stringify([created.body, log?.body, pipeline?.body]).replaceAll('\\n', '\n')) ? ['the canary came out'] : []),
    ...(isRead && (pipeline?.body.runtime?.frames ?? 0) > 0 ? ['the video came out'] : []),
  ]
  await service.request('PUT', '/svc/pipeline/attack/stop')
  await service.request('DELETE', '/svc/pipeline/attack')
  return outcome([...achieved, ...targets.damage()])
}

const missing = (elements: readonly string[]): boolean =>
  elements.some((element) => spawnSync('gst-inspect-1.0', ['--exists', element]).status !== 0)

const print = (row: Record<string, string>): void => void process.stdout.write(`${JSON.stringify(row)}\n`)

const data = join(folder, 'data')
mkdirSync(data)
const targets = await createTargets(join(folder, 'targets'))
const service = await startService({ dataDir: data, env: { SVC_OUTPUT_PORTS: '28000-28049' } })
// As the engine does.
await withholdInherited()
const sandbox = await confineChildren('auto', folder, runToEnd)
await service.request('PUT', '/svc/settings', { start_timeout_seconds: 3 })
// The first engine lists the plugins, which takes a while on a busy host.
await until(
  () => service.request('POST', '/svc/pipeline/validate', { id: 'first', mode: 'simple', source: { uri: 'test://ball' } }),
  ({ status }) => status !== 503,
  60_000,
)

for (const attack of ATTACKS) {
  if (missing(attack.needs)) {
    print({ attack: attack.name, api: 'not installed', direct: 'not installed', control: 'not installed' })
    continue
  }
  const api = await throughApi(service, targets, { mode: 'advanced', raw_pipeline: attack.description(targets) }, attack.kind === 'read')
  targets.reset()
  const direct = sandbox.state === 'on' ? outcome(await tryAttack(attack, targets)) : '–'
  targets.reset()
  const control = HARMFUL.has(attack.name) ? 'not tried' : (await tryAttack(attack, targets, 'host')).length > 0 ? 'open' : 'fails'
  targets.reset()
  print({ attack: attack.name, api, direct, control })
}
for (const [name, uri] of Object.entries(SOURCES)) {
  print({
    attack: name,
    api: await throughApi(service, targets, { mode: 'simple', source: { uri: uri(targets) } }, true),
    direct: '–',
    control: '–',
  })
  targets.reset()
}
const plays = await service.request('POST', '/svc/pipeline', { id: 'plays', mode: 'simple', source: { uri: 'test://ball' } })
print({ attack: '(a simple pipeline)', api: plays.status === 201 ? 'plays' : 'open: nothing plays', direct: '–', control: '–' })
await service.stop()
targets.close()
