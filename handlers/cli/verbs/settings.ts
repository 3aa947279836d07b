import { parse } from 'yaml'
import { printableJson } from '../../../lib/log/printable.ts'
import type { SettingsChange } from '../../client/client.ts'
import { UsageError } from '../command-line/arguments.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run } from '../command-line/session.ts'
import { printableYaml } from '../terminal/printable-yaml.ts'

/** Shows the settings, after changing the given fields: `screenshots.quality=90`. */
export const settings: Run = async ({ client, given, signal, out, isJson }) => {
  const { operands } = given
  const found =
    operands.length === 0
      ? await client.getSettings({ signal })
      : await client.changeSettings({ body: changeOf(operands) as SettingsChange, signal })
  out.print(isJson ? printableJson(found, 2) : printableYaml(found))
  return EXIT.done
}

/** Values are YAML, so also JSON. */
const changeOf = (operands: readonly string[]): object => {
  const change = Object.create(null)
  for (const operand of operands) {
    const [, field, text] = /^([a-z_.]+)=(.*)$/s.exec(operand) ?? []
    if (field === undefined || text === undefined) throw new UsageError(`Use FIELD=VALUE, such as screenshots.quality=90, not ${operand}.`)
    const names = field.split('.')
    const name = names.pop() ?? ''
    let group = change
    for (const part of names) group = group[part] ??= Object.create(null)
    group[name] = parsed(text, operand)
  }
  return change
}

const parsed = (text: string, operand: string): unknown => {
  try {
    return parse(text)
  } catch {
    throw new UsageError(`The value in ${operand} is not valid YAML. Put it in quotes.`)
  }
}
