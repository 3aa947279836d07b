/** An inclusive range of TCP ports, as in `SVC_OUTPUT_PORTS=50000-55000`. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

/** Parses `first-last` (1024–65535, first not above last), undefined when it is not that. */
export const parsePortRange = (text: string): PortRange | undefined => {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text.trim())
  if (match === null) return undefined
  const range = { first: Number(match[1]), last: Number(match[2]) }
  return range.first >= 1024 && range.last <= 65535 && range.first <= range.last ? range : undefined
}
