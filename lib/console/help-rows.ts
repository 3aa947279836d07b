/** Default width of a terminal, columns. */
const WIDTH = 80
const INDENT = '  '
const GAP = '  '

/** Names and what they mean in two columns, as `--help` prints them: lines of at most 80 characters, unless a single word is longer. */
export const helpRows = (rows: readonly (readonly [name: string, about: string])[]): readonly string[] => {
  const widest = Math.max(...rows.map(([name]) => name.length))
  const hanging = ' '.repeat(INDENT.length + widest + GAP.length)
  return rows.flatMap(([name, about]) => {
    const [first = '', ...more] = wrap(about, WIDTH - hanging.length)
    return [`${INDENT}${name.padEnd(widest)}${GAP}${first}`.trimEnd(), ...more.map((line) => hanging + line)]
  })
}

const wrap = (text: string, width: number): readonly string[] => {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}
