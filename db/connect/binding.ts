import type { Client, InStatement, ResultSet, Row } from '@libsql/client'
import { drizzle } from 'drizzle-orm/libsql/http'
import type { DatabaseClient, DatabaseConnection } from './connection.ts'
import type { BoundResult, BoundStatement, DatabaseBinding } from './d1.ts'

/** A D1 binding of a worker, as a libSQL client for the repositories. */
export const connectToBinding = (binding: DatabaseBinding): DatabaseConnection => {
  const prepare = (statement: InStatement | string): BoundStatement => {
    if (typeof statement === 'string') return binding.prepare(statement)
    const { sql, args = [] } = statement
    if (!Array.isArray(args)) throw new Error('Named parameters are not bound here')
    return args.length === 0 ? binding.prepare(sql) : binding.prepare(sql).bind(...args)
  }
  const client = {
    execute: (statement: InStatement) => withCode(async () => toResultSet(await prepare(statement).all())),
    batch: (statements: InStatement[]) => withCode(async () => (await binding.batch(statements.map(prepare))).map(toResultSet)),
    close: () => {},
  } as DatabaseClient
  return { client, orm: drizzle(client as Client) }
}

const toResultSet = ({ results, meta }: BoundResult): ResultSet => {
  const rows = results.map(toRow)
  const columns = Object.keys(results[0] ?? {})
  return {
    columns,
    columnTypes: [],
    rows,
    rowsAffected: meta.changes ?? 0,
    lastInsertRowid: undefined,
    toJSON: () => ({ columns, rows }),
  }
}

/** libSQL rows are read by position and by name. */
const toRow = (record: unknown): Row => Object.assign(Object.values(record as object), record) as unknown as Row

/** Adds the SQLite error code, which D1 has in the message only. */
const withCode = async <T>(run: () => Promise<T>): Promise<T> => {
  try {
    return await run()
  } catch (cause) {
    const [code] = /SQLITE_[A-Z_]+/.exec(cause instanceof Error ? cause.message : '') ?? []
    throw code === undefined ? cause : Object.assign(new Error('The bound database refused a statement', { cause }), { code })
  }
}
