import { stringify } from 'yaml'
import { exportDeclaration } from '../../declared/export.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run } from '../command-line/session.ts'

/** Pipelines and settings as YAML, or as JSON with --json. */
export const exportAll: Run = async ({ client, signal, out, isJson }) => {
  const declared = await exportDeclaration(client, signal)
  out.print(isJson ? JSON.stringify(declared, null, 2) : stringify(declared, { lineWidth: 0 }).trimEnd())
  return EXIT.done
}
