/** `[['a.b', 1]]` as `{ a: { b: 1 } }`, at most two levels deep. */
export const nested = (fields: readonly (readonly [path: string, value: unknown])[]): object => {
  const record: Record<string, unknown> = {}
  for (const [path, value] of fields) {
    const [group = '', name] = path.split('.')
    record[group] = name === undefined ? value : { ...(record[group] as object | undefined), [name]: value }
  }
  return record
}
