import { Document, visit } from 'yaml'
import { isPrintable, printableLines } from '../../../lib/log/printable.ts'

/** YAML for a terminal or a file, with characters escaped that are not printable. */
export const printableYaml = (value: unknown): string => {
  const document = new Document(value)
  visit(document, {
    Scalar: (_, scalar) => {
      // Only double-quoted scalars have escapes (YAML 1.2 section 5.7). Line breaks are allowed.
      if (typeof scalar.value === 'string' && !isPrintable(scalar.value.replaceAll('\n', ''))) scalar.type = 'QUOTE_DOUBLE'
    },
  })
  return printableLines(document.toString({ lineWidth: 0 }).trimEnd())
}
