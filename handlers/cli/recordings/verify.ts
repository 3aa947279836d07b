import { createPublicKey, type KeyObject } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { printable, printableJson } from '../../../lib/log/printable.ts'
import { UsageError } from '../command-line/arguments.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run } from '../command-line/session.ts'
import { chainsAt, checkChain, type Finding } from './chain-check.ts'

const KEY_FILE = 'recordings-key.pem'

/** Checks recordings against their chains: names the first segment of each path that does not hold. */
export const verify: Run = async ({ given, out, isJson }) => {
  const key = readKey(given.text('key') ?? join(process.env.SVC_DATA_DIR || './data', KEY_FILE))
  const findings: Finding[] = []
  let chains = 0
  for (const operand of given.operands) {
    const path = resolve(operand)
    if (!existsSync(path)) throw new UsageError(`There is no file or folder ${operand}.`)
    const found = chainsAt(path)
    if (found.length === 0) throw new UsageError(`${operand} has no recordings.`)
    chains += found.length
    for (const chain of found) {
      const finding = await checkChain(chain, key)
      if (finding === undefined) continue
      findings.push(finding)
      break
    }
  }
  if (isJson) out.print(printableJson({ valid: findings.length === 0, chains, findings }))
  else if (findings.length === 0)
    out.print(`${out.paint.green('✓')} ${chains} chain${chains === 1 ? '' : 's'}: every segment is as it was recorded`)
  else for (const { path, fault, why } of findings) out.print(`${out.paint.red('✗')} ${printable(path)} is ${fault}: ${printable(why)}`)
  return findings.length === 0 ? EXIT.done : EXIT.failed
}

/** The public key, also of a file with the private one. */
const readKey = (file: string): KeyObject => {
  try {
    return createPublicKey(readFileSync(file))
  } catch {
    throw new UsageError(`The key ${file} cannot be read. Use --key FILE with the answer of GET /svc/recordings/key.`)
  }
}
