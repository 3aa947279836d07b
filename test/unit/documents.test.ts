import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { toJsonSchema } from '@valibot/to-json-schema'
import type { GenericSchema } from 'valibot'
import { describe, expect, it } from 'vitest'
import { LAYOUT } from '../../engine/deploy/install/units.ts'
import { Fault, type FaultReason, worthRetrying } from '../../engine/faults/fault.ts'
import { ENGINE_METRICS } from '../../engine/metrics/table.ts'
import { HOST_COMMANDS, VERBS } from '../../handlers/cli/command-line/verbs.ts'
import { createApiMetrics } from '../../handlers/node/metrics.ts'
import { CONFIGURATION_VARIABLES, unknownVariables } from '../../lib/configuration/configuration.ts'
import { ERROR_STATUS } from '../../lib/errors.ts'
import { advancedPipelineSchema, simplePipelineSchema } from '../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS, settingsSchema } from '../../lib/schema/settings.ts'
import packageJson from '../../package.json' with { type: 'json' }
import {
  inlineCode,
  links,
  longLines,
  namedPaths,
  readDocument,
  readSources,
  section,
  shellCommands,
  tableRows,
  USER_DOCUMENTS,
} from '../helpers/documents.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** The rows of the tables of a section, such as `docs/klv.md` with its heading, whose first cell fits, in their order. */
const rowsOf = (document: string, heading: string, first: RegExp) =>
  tableRows(section(readDocument(document), heading)).filter(([cell = '']) => first.test(cell))
const variableRows = () => rowsOf('docs/configuration.md', '## Variables', /^`SVC_/)
const settingRows = () => rowsOf('docs/configuration.md', '## Settings', /^`/)

/** `{ a: { b: 1 } }` as `[['a.b', 1]]`. */
const leaves = (record: object, path = ''): readonly (readonly [name: string, value: unknown])[] =>
  Object.entries(record).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? leaves(value, `${path}${name}.`)
      : [[`${path}${name}`, value] as const],
  )

/** The headings of a document as links name them. */
const anchors = (document: string): readonly string[] =>
  [
    ...readDocument(document)
      .replace(/^```[\s\S]*?^```/gm, '')
      .matchAll(/^#+ (.+)$/gm),
  ].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )

interface Bounded {
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Bounded>>
  readonly anyOf?: readonly Bounded[]
}

/** The numbers of a schema that have bounds: `a.b` to `1–120`. */
const boundsOf = (schema: GenericSchema): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const look = (path: string, { minimum, maximum, properties = {}, anyOf = [] }: Bounded): void => {
    if (minimum !== undefined && maximum !== undefined) found.set(path, `${minimum}–${maximum}`)
    for (const [name, inner] of Object.entries(properties)) look(path === '' ? name : `${path}.${name}`, inner)
    for (const inner of anyOf) look(path, inner)
  }
  look('', toJsonSchema(schema, { errorMode: 'ignore' }) as Bounded)
  return found
}

const DOCUMENTS = [...USER_DOCUMENTS, 'CONTRIBUTING.md', 'SECURITY.md']
const USERS_READ = USER_DOCUMENTS.map(readDocument).join('\n')
const MAX_README_LINES = 350
const MAX_PICTURE_BYTES = 150_000

/** Names in documents that are those of other programs. */
const OF_OTHERS = ['all_others', 'http_headers', 'node_modules']
const OF_A_DATA_DIRECTORY = ['engine.json', 'fleet.json']
/** An example, and log events whose name is put together (lib/process/hang-watch.ts). */
const NOT_IN_SOURCES = ['noun_verb', 'api_hangs', 'engine_hangs']

/** All of them, by their type. */
const REASONS = Object.keys({
  unreachable: true,
  timeout: true,
  stalled: true,
  ended: true,
  crashed: true,
  source_error: true,
  source_flood: true,
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
  advanced_disabled: true,
  denied_element: true,
  engine_missing: true,
} satisfies Record<FaultReason, true>) as FaultReason[]

it('the README is short enough to be read', () => {
  expect(readDocument('README.md').split('\n').length).toBeLessThanOrEqual(MAX_README_LINES)
})

describe.each(DOCUMENTS)('%s', (name) => {
  const text = readDocument(name)

  it('has no line over 120 columns', () => {
    expect(longLines(text, 120)).toEqual([])
  })

  it('names files, variables, log events, reasons and fields that exist', () => {
    expect(namedPaths(text).filter((path) => !OF_A_DATA_DIRECTORY.includes(path) && !existsSync(resolve(ROOT, path)))).toEqual([])
    const variables = [...text.matchAll(/\bSVC_[A-Z_]+(?![A-Z_…])/g)].map(([variable]) => variable)
    expect(unknownVariables(Object.fromEntries(variables.map((variable) => [variable, '1'])))).toEqual([])
    const names = new Set(inlineCode(text).flatMap((code) => code.match(/[a-z][a-z0-9]*(?:_[a-z0-9]+)+/g) ?? []))
    const sources = readSources()
    const known = (word: string): boolean => [...OF_OTHERS, ...NOT_IN_SOURCES].includes(word) || sources.includes(word)
    expect([...names].filter((word) => !known(word))).toEqual([])
  })

  it('links to files and headings that exist', () => {
    const missing = links(name).filter(
      ({ file, heading }) => !existsSync(resolve(ROOT, file)) || (heading !== '' && !anchors(file).includes(heading)),
    )
    expect(missing).toEqual([])
  })
})

it('the pictures of the README load quickly', () => {
  const sizes = readdirSync(resolve(ROOT, 'docs/images')).map((name) => statSync(resolve(ROOT, 'docs/images', name)).size)
  expect(sizes.length).toBeGreaterThan(2)
  expect(Math.max(...sizes)).toBeLessThan(MAX_PICTURE_BYTES)
})

it('the README and the index of docs link to every page', () => {
  const pages = USER_DOCUMENTS.slice(1).filter((page) => page !== 'docs/README.md')
  for (const index of ['README.md', 'docs/README.md']) expect(links(index).map(({ file }) => file)).toEqual(expect.arrayContaining(pages))
})

describe('the reference', () => {
  it('lists every variable of the environment with its default and its meaning', () => {
    const expected = CONFIGURATION_VARIABLES.map(({ name, shown, about }) => [`\`${name}\``, shown, about])
    expect(variableRows()).toEqual(expected)
  })

  it('says which variables an engine that runs by itself reads', () => {
    const engine = readFileSync(resolve(ROOT, 'engine/main.ts'), 'utf8')
    const [sentence = ''] = /An engine that runs by itself[^.]*/.exec(section(readDocument('docs/configuration.md'), '## Variables')) ?? []
    const names = CONFIGURATION_VARIABLES.map(({ name }) => name)
    const fieldOf = (name: string): string =>
      name
        .slice(4)
        .toLowerCase()
        .replace(/_./g, ([, letter = '']) => letter.toUpperCase())
    const isRead = (name: string): boolean =>
      engine.includes(`env.${name}`) ||
      new RegExp(`configuration\\.${fieldOf(name)}\\b|\\b${fieldOf(name)}\\b[^}]*} = configuration`).test(engine)
    expect(names.filter((name) => sentence.includes(`\`${name.replace(/(?<=OUTPUT_).*/, '…')}\``))).toEqual(names.filter(isRead))
  })

  it('lists every setting with its default', () => {
    const shown = (value: unknown): string => (Array.isArray(value) ? 'a list' : String(value))
    const expected = leaves(DEFAULT_SETTINGS).map(([name, value]) => [`\`${name}\``, shown(value)])
    expect(settingRows().map((row) => row.slice(0, 2))).toEqual(expected)
  })

  it('says the bounds of every number in the settings, and the right ones of those of a pipeline', () => {
    const saysBounds = (meaning: string, bounds: string): boolean => new RegExp(`(?<!\\d)${bounds}(?!\\d)`).test(meaning)
    const settings = new Map(settingRows().map(([name = '', , meaning = '']) => [name, meaning]))
    const bounds = [...boundsOf(settingsSchema)]
    expect(bounds.length).toBeGreaterThan(10)
    expect(bounds.filter(([name, range]) => !saysBounds(settings.get(`\`${name}\``) ?? '', range))).toEqual([])

    const ofPipeline = new Map([...boundsOf(advancedPipelineSchema), ...boundsOf(simplePipelineSchema)])
    const said = rowsOf('docs/pipelines.md', '## Fields', /^`/).flatMap(([name = '', , meaning = '']) => {
      const [, field = ''] = /^`([\w.]+)`/.exec(name) ?? []
      const range = ofPipeline.get(field)
      return range !== undefined && /\d–\d/.test(meaning) ? [[field, saysBounds(meaning, range)]] : []
    })
    expect(said.length).toBeGreaterThan(3)
    expect(said.filter(([, right]) => !right)).toEqual([])
  })

  it('lists every error code with its status', () => {
    const expected = Object.entries(ERROR_STATUS).map(([code, status]) => [code, String(status)])
    expect(rowsOf('docs/faults.md', '## Error codes', /^[A-Z_]+$/).map((row) => row.slice(0, 2))).toEqual(expected)
  })

  it('lists every reason of a fault, and whether a pipeline is tried again after it', () => {
    const expected = REASONS.map((reason) => [`\`${reason}\``, worthRetrying(new Fault(reason, 'A fault.')) ? 'yes' : 'no'])
    const listed = rowsOf('docs/faults.md', '## Reasons of a fault', /^`/).map(([reason, , retried]) => [reason, retried])
    expect(listed.sort()).toEqual(expected.sort())
  })

  it('lists every metric of pipelines, and none that does not exist', async () => {
    const listed = new Set(inlineCode(section(readDocument('docs/metrics.md'), '## Metrics')).filter((code) => /^svc_\w+$/.test(code)))
    const api = await createApiMetrics({ sseClients: () => 0 }).text()
    const ofApi = [...api.matchAll(/^# TYPE (svc_(?!api_(?!uptime)|engine_)\w+) /gm)].map(([, name]) => name)
    // Not in the table of the engine: one is the API's own, the other counts events.
    const others = ['svc_engine_up', 'svc_pipeline_first_frame_seconds']
    expect([...listed].sort()).toEqual([...ENGINE_METRICS.map(({ name }) => name), ...ofApi, ...others].sort())
  })

  it('names npm scripts, commands and units that exist', () => {
    // `npm install` of a file is a command of npm's own.
    const scripts = [...USERS_READ.matchAll(/(?:^|`)npm (?:run )?(?!install\b)([a-z:-]+)/gm)].map(([, name]) => name)
    expect(scripts.length).toBeGreaterThan(2)
    // Each works in a clean clone.
    for (const name of scripts) expect(packageJson.scripts).toHaveProperty(`pre${name}`, expect.stringContaining('engine/deploy/setup.mjs'))
    const known = Object.keys({ ...HOST_COMMANDS, ...VERBS })
    const code = [...inlineCode(USERS_READ), ...shellCommands(USERS_READ)]
    const commands = code.flatMap((line) => /^(?:sudo )?video-pipeline-service ([a-z]+)/.exec(line)?.[1] ?? [])
    expect(commands.length).toBeGreaterThan(5)
    for (const name of commands) expect(known).toContain(name)
    const units = [...USERS_READ.matchAll(/\bvideo-pipeline-[a-z]+\.service\b/g)].map(([name]) => name)
    expect(units.length).toBeGreaterThan(1)
    for (const name of units) expect([LAYOUT.apiUnit, LAYOUT.engineUnit]).toContain(name)
    expect(readDocument('README.md')).toContain(`./video-pipeline-service_${packageJson.version}_amd64.deb`)
    expect(readDocument('docs/deployment.md')).toContain(`./video-pipeline-service-${packageJson.version}.tgz`)
  })
})
