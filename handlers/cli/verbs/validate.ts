import { printable, printableJson } from '../../../lib/log/printable.ts'
import type { PipelineRequest } from '../../client/client.ts'
import { failureOf } from '../../declared/apply.ts'
import { withoutDefaults } from '../../declared/configured.ts'
import type { DeclaredPipeline } from '../../declared/declaration.ts'
import { mapConcurrent } from '../../declared/map-concurrent.ts'
import { EXIT, errorFields, exitCodeOf, explain } from '../command-line/exit.ts'
import type { Run, Session } from '../command-line/session.ts'
import { readInput } from './input.ts'

/** Has the service check each pipeline of a file, and changes nothing. */
export const validate: Run = async (session) => {
  const { pipelines } = readInput(session)
  const codes = await mapConcurrent(pipelines, (declared) => check(session, declared))
  return codes.find((code) => code !== EXIT.done) ?? EXIT.done
}

const check = async ({ client, signal, out, url, isJson }: Session, { id, config, place }: DeclaredPipeline): Promise<number> => {
  const name = out.paint.bold(printable(id))
  try {
    const body = withoutDefaults(config) as unknown as PipelineRequest
    const found = await client.validatePipeline({ body, signal })
    out.print(isJson ? printableJson({ id, ...found }) : `${name}  ${out.paint.green('valid')}`)
    return EXIT.done
  } catch (error) {
    const { message } = failureOf(error, place)
    const text = error instanceof Error && error.message !== message ? printable(message) : explain(error, url)
    process.stderr.write(
      isJson ? `${printableJson({ id, valid: false, ...errorFields(error, url), message })}\n` : `${printable(id)}  ${text}\n`,
    )
    return exitCodeOf(error)
  }
}
