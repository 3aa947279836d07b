export interface ParsedMetrics {
  readonly text: string
  /** Names that have a TYPE line; a histogram's samples carry suffixes. */
  readonly names: ReadonlySet<string>
  /** Names of samples, suffixes included, and the labels that each has. */
  readonly samples: ReadonlyMap<string, ReadonlySet<string>>
  /** Names that are declared more than once, which Prometheus refuses. */
  readonly repeated: readonly string[]
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

/** Parses version 0.0.4 of the text format; throws at an invalid line. */
export const parseMetrics = (text: string): ParsedMetrics => {
  const declared: string[] = []
  const samples = new Map<string, Set<string>>()
  const values = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line.startsWith('# TYPE ')) declared.push(line.split(' ')[2] ?? '')
    if (line === '' || line.startsWith('#')) continue
    const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? []
    // Go's strconv.ParseFloat, by which Prometheus reads values, takes NaN and Inf in any case.
    if (name === '' || (!/^nan$/i.test(value) && Number.isNaN(Number(value.replace('Inf', 'Infinity')))))
      throw new Error(`No sample: ${line}`)
    const pairs = [...labels.matchAll(LABEL)].map(([, key = '', text = '']) => [key, text] as const)
    const known = samples.get(name) ?? new Set()
    for (const [key] of pairs) known.add(key)
    samples.set(name, known)
    values.set(keyOf(name, Object.fromEntries(pairs)), Number(value))
  }
  return {
    text,
    names: new Set(declared),
    samples,
    repeated: declared.filter((name, at) => declared.indexOf(name) !== at),
    value: (name, labels = {}) => values.get(keyOf(name, labels)),
  }
}

const keyOf = (name: string, labels: Readonly<Record<string, string>>): string => JSON.stringify([name, Object.entries(labels).sort()])
