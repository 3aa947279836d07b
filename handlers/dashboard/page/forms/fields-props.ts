import type { Draft } from './draft.ts'

/** What a group of fields needs. */
export interface FieldsProps {
  readonly draft: Draft
  readonly set: (change: Partial<Draft>) => void
  /** What is wrong with a field, once somebody has been there. */
  readonly errorOf: (path: string) => string | undefined
  readonly touch: (path: string) => () => void
}
