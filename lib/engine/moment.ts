/** How far an engine process has come: its revision counts its events, so it says which of them an answer takes into account. */
export interface EngineMoment {
  readonly engine: string
  readonly revision: number
}

/** The header field of the engine's answers with the moment at which they were made. */
export const MOMENT_HEADER = 'x-engine-moment'

export const formatMoment = ({ engine, revision }: EngineMoment): string => `${engine} ${revision}`

/** Undefined for an answer without, such as an error. */
export const parseMoment = (text: string | null): EngineMoment | undefined => {
  const [, engine, revision] = /^([\w-]{1,64}) (\d{1,15})$/.exec(text ?? '') ?? []
  return engine === undefined ? undefined : { engine, revision: Number(revision) }
}
