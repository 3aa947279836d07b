/**
 * When a process started, which distinguishes it from a later one with the same pid: the boot, and the time since then in clock
 * ticks (proc(5), field 22 of stat). Undefined for a process that has ended.
 */
export const readProcessStart = (bootId: string, stat: string): string | undefined => {
  // The name in parentheses may hold anything.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = fields[18]
  return state === 'Z' || state === 'X' || ticks === undefined ? undefined : `${bootId.trim()}:${ticks}`
}
