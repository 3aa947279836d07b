import { redact } from '../../lib/redact.ts'
import { Fault, type FaultReason } from '../faults/fault.ts'
import { packageOf } from './elements.ts'

/** What a line of gst-launch-1.0 means. */
export interface FaultRule {
  readonly pattern: RegExp
  /** Another line that the rule needs. */
  readonly with?: RegExp
  readonly reason: FaultReason
  /** Shown to users; `$1` … are the groups of the pattern, `$package` is the package of the element `$1`. */
  readonly message: string
  /** Shown instead when the description is the user's own. */
  readonly advanced?: string
  /** Shown instead of a receiver over TLS. */
  readonly overTls?: string
  readonly isAway?: true
}

const fill = (template: string, match: RegExpExecArray): string =>
  template.replace(/\$(\d|package)/g, (_, which: string) =>
    which === 'package' ? packageOf(match[1] ?? '') : (match[Number(which)] ?? ''),
  )

/** The fault of the first rule that matches any line, with the message of `variant` if there is one. */
export const ruledFault = (
  rules: readonly FaultRule[],
  lines: readonly string[],
  variant: 'message' | 'advanced' | 'overTls' = 'message',
): Fault | undefined => {
  for (const rule of rules) {
    if (rule.with !== undefined && !lines.some((line) => rule.with?.test(line))) continue
    for (const line of lines) {
      const match = rule.pattern.exec(line)
      if (match === null) continue
      return new Fault(rule.reason, redact(fill(rule[variant] ?? rule.message, match)), { isAway: rule.isAway })
    }
  }
  return undefined
}

/** The first error that GStreamer printed, or another line, without credentials; empty when there is none. */
export const shownError = (lines: readonly string[], otherwise = ''): string => {
  const error = lines.find((line) => /^(?:ERROR|WARNING: erroneous pipeline)/.test(line)) ?? otherwise
  return redact(error.replace(/^ERROR: (?:from element \S+: )?/, '').slice(0, 300))
}
