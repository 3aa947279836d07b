import type { Draft } from './draft.ts'

/** Props of a group of fields. */
export interface FieldsProps {
  readonly draft: Draft
  readonly set: (change: Partial<Draft>) => void
  /** The mistake of a field that the user has left. */
  readonly errorOf: (path: string) => string | undefined
  readonly touch: (path: string) => () => void
}
