import { printableJson } from '../../../lib/log/printable.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run } from '../command-line/session.ts'
import { fieldLines } from '../terminal/fields.ts'

/** Health of the service, its engine and its database; fails while it is degraded. */
export const health: Run = async ({ client, signal, out, isJson, now }) => {
  const found = await client.getHealth({ signal })
  const { status, ...fields } = found
  const isOk = status === 'ok'
  if (isJson) out.print(printableJson(found, 2))
  else out.print([out.paint[isOk ? 'green' : 'red'](status), ...fieldLines(fields, out, now())].join('\n'))
  return isOk ? EXIT.done : EXIT.failed
}
