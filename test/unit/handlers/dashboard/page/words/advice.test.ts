import { describe, expect, it } from 'vitest'
import { Fault, type FaultReason, worthRetrying } from '../../../../../../engine/faults/fault.ts'
import { adviceOn } from '../../../../../../handlers/dashboard/page/words/advice.ts'
import { readDocument, section, tableRows } from '../../../../../helpers/documents.ts'

const REASONS = tableRows(section(readDocument('docs/faults.md'), '## Reasons of a fault')).flatMap(
  ([cell = '']) => /^`(\w+)`$/.exec(cell)?.[1] ?? [],
)

describe('the advice on a fault', () => {
  it('exists for every reason, and points to the form where only a change helps', () => {
    expect(REASONS.length).toBeGreaterThan(10)
    expect(REASONS.filter((reason) => adviceOn(reason) === undefined)).toEqual([])
    for (const reason of ['unauthorized', 'bad_description', 'unsupported'] as const satisfies readonly FaultReason[]) {
      expect(worthRetrying(new Fault(reason, 'A fault.'))).toBe(false)
      expect(adviceOn(reason)).toContain('Edit')
    }
    expect(adviceOn(undefined)).toBeUndefined()
  })
})
