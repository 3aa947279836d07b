import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LAYOUT } from '../../engine/deploy/install/units.ts'
import { Fault, type FaultCause, worthRetrying } from '../../engine/fault.ts'
import { ENGINE_METRICS } from '../../engine/metrics/table.ts'
import { HOST_COMMANDS, VERBS } from '../../handlers/cli/command-line/verbs.ts'
import { createApiMetrics } from '../../handlers/node/metrics.ts'
import { CONFIGURATION_VARIABLES } from '../../lib/configuration.ts'
import { ERROR_STATUS } from '../../lib/errors.ts'
import { DEFAULT_SETTINGS } from '../../lib/schema/settings.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { inlineCode, longLines, namedPaths, readDocument, section, shellCommands, tableRows } from '../helpers/documents.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const README = readDocument('README.md')

/** The rows of a section's tables whose first cell fits, in their order. */
const rowsOf = (heading: string, first: RegExp) => tableRows(section(README, heading)).filter(([cell = '']) => first.test(cell))

/** `{ a: { b: 1 } }` as `[['a.b', 1]]`. */
const leaves = (record: object, path = ''): readonly (readonly [name: string, value: unknown])[] =>
  Object.entries(record).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? leaves(value, `${path}${name}.`)
      : [[`${path}${name}`, value] as const],
  )

/** All of them, by their type. */
const REASONS = Object.keys({
  unreachable: true,
  timeout: true,
  stalled: true,
  ended: true,
  crashed: true,
  source_error: true,
  port_in_use: true,
  output_unavailable: true,
  device_busy: true,
  device_missing: true,
  unauthorized: true,
  not_found: true,
  bad_description: true,
  missing_element: true,
  unsupported: true,
  permission: true,
  engine_missing: true,
} satisfies Record<FaultCause, true>) as FaultCause[]

describe('the README', () => {
  it.each(['README.md', 'CONTRIBUTING.md', 'SECURITY.md'] as const)('and its companion %s have no line over 120 columns', (name) => {
    expect(longLines(readDocument(name), 120)).toEqual([])
  })

  it('lists every variable of the environment with its default and its meaning', () => {
    const expected = CONFIGURATION_VARIABLES.map(({ name, shown, about }) => [`\`${name}\``, shown, about])
    expect(rowsOf('## Configuration', /^`SVC_/)).toEqual(expected)
  })

  it('lists every setting with its default', () => {
    const shown = (value: unknown): string => (Array.isArray(value) ? 'a list' : String(value))
    const expected = leaves(DEFAULT_SETTINGS).map(([name, value]) => [`\`${name}\``, shown(value)])
    expect(rowsOf('## Settings', /^`/).map((row) => row.slice(0, 2))).toEqual(expected)
  })

  it('lists every error code with its status', () => {
    const expected = Object.entries(ERROR_STATUS).map(([code, status]) => [code, String(status)])
    expect(rowsOf('## Errors', /^[A-Z_]+$/).map((row) => row.slice(0, 2))).toEqual(expected)
  })

  it('lists every reason of a fault, and whether a pipeline is tried again after it', () => {
    const expected = REASONS.map((reason) => [`\`${reason}\``, worthRetrying(new Fault(reason, 'A fault.')) ? 'yes' : 'no'])
    const listed = rowsOf('### Reasons of a fault', /^`/).map(([reason, , retried]) => [reason, retried])
    expect(listed.sort()).toEqual(expected.sort())
  })

  it('lists every metric of pipelines, and none that does not exist', async () => {
    const listed = new Set(inlineCode(section(README, '## Metrics and logs')).filter((code) => /^svc_\w+$/.test(code)))
    const api = await createApiMetrics({ sseClients: () => 0 }).text()
    const ofApi = [...api.matchAll(/^# TYPE (svc_(?!api_(?!uptime)|engine_)\w+) /gm)].map(([, name]) => name)
    // Not in the table of the engine: one is the API's own, the other counts events.
    const others = ['svc_engine_up', 'svc_pipeline_first_frame_seconds']
    expect([...listed].sort()).toEqual([...ENGINE_METRICS.map(({ name }) => name), ...ofApi, ...others].sort())
  })

  it('names files, npm scripts, commands and units that exist', () => {
    expect(namedPaths(README).length).toBeGreaterThan(3)
    expect(namedPaths(README).filter((path) => !existsSync(resolve(ROOT, path)))).toEqual([])
    const scripts = [...README.matchAll(/(?:^|`)npm (?:run )?([a-z:-]+)/gm)].map(([, name]) => name)
    expect(scripts.length).toBeGreaterThan(2)
    for (const name of scripts) if (name !== 'pack') expect(Object.keys(packageJson.scripts)).toContain(name)
    const known = Object.keys({ ...HOST_COMMANDS, ...VERBS })
    const code = [...inlineCode(README), ...shellCommands(README)]
    const commands = code.flatMap((line) => /^(?:sudo )?video-pipeline-service ([a-z]+)/.exec(line)?.[1] ?? [])
    expect(commands.length).toBeGreaterThan(5)
    for (const name of commands) expect(known).toContain(name)
    const units = [...README.matchAll(/\bvideo-pipeline-[a-z]+\.service\b/g)].map(([name]) => name)
    expect(units.length).toBeGreaterThan(1)
    for (const name of units) expect([LAYOUT.apiUnit, LAYOUT.engineUnit]).toContain(name)
    expect(README).toContain(`./video-pipeline-service-${packageJson.version}.tgz`)
  })

  it('links to headings and files that exist', () => {
    const anchors = [...README.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    )
    const links = [...README.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target)
    expect(links.length).toBeGreaterThan(15)
    for (const link of links) {
      if (link.startsWith('#')) expect(anchors).toContain(link.slice(1))
      else expect([link, existsSync(resolve(ROOT, link))]).toEqual([link, true])
    }
  })
})
