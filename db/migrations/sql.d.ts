/** The text of a migration, inlined by the bundler. */
declare module '*.sql?raw' {
  const sql: string
  export default sql
}
