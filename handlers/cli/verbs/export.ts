import { printableJson } from '../../../lib/log/printable.ts'
import { exportDeclaration } from '../../declared/export.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run } from '../command-line/session.ts'
import { printableYaml } from '../terminal/printable-yaml.ts'

/** Pipelines and settings as YAML, or as JSON with --json. */
export const exportAll: Run = async ({ client, signal, out, isJson }) => {
  const declared = await exportDeclaration(client, signal)
  out.print(isJson ? printableJson(declared, 2) : printableYaml(declared))
  return EXIT.done
}
