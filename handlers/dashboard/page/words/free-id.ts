const MAX_NAME = 48

/** An id for a pipeline from the name of its camera, such as `Logitech-C920`; with a number when another one has it. */
export const freeId = (name: string, taken: ReadonlySet<string>): string => {
  const signs = [...name].map((sign) => (/[a-zA-Z0-9_]/.test(sign) ? sign : ' ')).join('')
  const base = signs.trim().split(' ').filter(Boolean).join('-').slice(0, MAX_NAME) || 'camera'
  let id = base
  for (let number = 2; taken.has(id); number++) id = `${base}-${number}`
  return id
}
