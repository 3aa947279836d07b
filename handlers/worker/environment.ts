import type { DatabaseBinding } from '../../db/connect/d1.ts'

/** A service binding. */
export interface ServiceBinding {
  fetch(request: Request | string, init?: RequestInit): Promise<Response>
}

/** Bindings, and the variables that the Node host reads from its environment. */
export interface WorkerEnvironment {
  /** Reaches the engine; without it SVC_ENGINE_URL is called. SVC_ENGINE_TOKEN is its bearer secret in both cases. */
  readonly ENGINE?: ServiceBinding
  /** A D1 database. */
  readonly DATABASE?: DatabaseBinding
  /** Reaches a libSQL server; without either SVC_DATABASE_URL is called. */
  readonly DATABASE_SERVER?: ServiceBinding
  /** The text of the license file. */
  readonly SVC_LICENSE?: string
  readonly [variable: string]: unknown
}
