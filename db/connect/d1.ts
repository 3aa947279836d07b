/** The part of a D1 binding that is used. https://developers.cloudflare.com/d1/worker-api/ */
export interface DatabaseBinding {
  prepare(sql: string): BoundStatement
  /** All or nothing. */
  batch(statements: BoundStatement[]): Promise<BoundResult[]>
}

export interface BoundStatement {
  bind(...values: unknown[]): BoundStatement
  all(): Promise<BoundResult>
}

export interface BoundResult {
  readonly results: readonly unknown[]
  readonly meta: { readonly changes?: number }
}
