/**
 * The peer of the reads: the same representations in SQLite behind fastify, as one writes it by hand. records-server FILE
 * The file has one representation a line. Prints `ready URL`.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

const thirdParty = createRequire(resolve(import.meta.dirname, '../../fixtures/third-party/package.json'))
// biome-ignore lint/suspicious/noExplicitAny: the packages of the fixture have no types here
const { fastify } = thirdParty('fastify') as any
// biome-ignore lint/suspicious/noExplicitAny: the packages of the fixture have no types here
const Database = thirdParty('better-sqlite3') as any

const JSON_COLUMNS = ['source', 'encoding', 'output', 'klv', 'klv_config', 'geolocation', 'screenshots', 'runtime'] as const
const COLUMNS = ['id', 'mode', 'on_demand', 'state', 'ephemeral', 'created_at', 'updated_at', ...JSON_COLUMNS]

type Columns = Record<string, unknown>

const database = new Database(':memory:')
database.exec(`CREATE TABLE pipelines (${COLUMNS.map((name) => (name === 'id' ? 'id TEXT PRIMARY KEY' : name)).join(', ')})`)
const insert = database.prepare(`INSERT INTO pipelines (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map((name) => `@${name}`).join(', ')})`)
const toColumn = (value: unknown): unknown => {
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'object' ? JSON.stringify(value) : (value ?? null)
}
database.transaction(() => {
  for (const line of readFileSync(process.argv[2] ?? '', 'utf8')
    .trim()
    .split('\n')) {
    const pipeline = JSON.parse(line) as Columns
    insert.run(Object.fromEntries(COLUMNS.map((name) => [name, toColumn(pipeline[name])])))
  }
})()

const toPipeline = (row: Columns): Columns => {
  const pipeline: Columns = { ...row, on_demand: row.on_demand === 1, ephemeral: row.ephemeral === 1 }
  for (const name of JSON_COLUMNS) if (typeof pipeline[name] === 'string') pipeline[name] = JSON.parse(pipeline[name])
  return pipeline
}

const one = database.prepare('SELECT * FROM pipelines WHERE id = ?')
const all = database.prepare('SELECT * FROM pipelines ORDER BY created_at, id')
const server = fastify()
server.get('/svc/pipeline', () => all.all().map(toPipeline))
// biome-ignore lint/suspicious/noExplicitAny: the packages of the fixture have no types here
server.get('/svc/pipeline/:id', (request: any, reply: any) => {
  const row = one.get(request.params.id)
  return row === undefined ? reply.code(404).send({ message: 'There is no such pipeline' }) : toPipeline(row)
})
process.stdout.write(`ready ${await server.listen({ port: 0, host: '127.0.0.1' })}\n`)
