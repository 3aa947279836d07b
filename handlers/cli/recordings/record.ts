import { printable, printableJson } from '../../../lib/log/printable.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run } from '../command-line/session.ts'

/** Records pipelines from now on, or no more. */
export const record: Run = async ({ client, given, signal, out, isJson }) => {
  for (const id of given.operands) {
    const { recording } = await (given.has('off') ? client.stopRecording({ id, signal }) : client.startRecording({ id, signal }))
    out.print(isJson ? printableJson({ id, recording }) : `${out.paint.bold(printable(id))} ${recording.state}`)
  }
  return EXIT.done
}
