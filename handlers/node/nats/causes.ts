import { errors } from '@nats-io/transport-node'

const MAX_CAUSES = 8

/** An error and its causes: the library wraps what the servers say. */
export const causesOf = (error: unknown): readonly unknown[] => {
  const causes: unknown[] = []
  for (let at = error; at instanceof Error && causes.length < MAX_CAUSES; at = at.cause) causes.push(at)
  return causes
}

/** Whether the servers do not let this user do something. */
export const isRefused = (error: unknown): boolean => causesOf(error).some((cause) => cause instanceof errors.PermissionViolationError)
