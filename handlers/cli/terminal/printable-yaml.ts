import { Document, visit } from 'yaml'
import { isPrintable, printableLines } from '../../../lib/log/printable.ts'

/** YAML for a terminal or a file: what is not printable is escaped. */
export const printableYaml = (value: unknown): string => {
  const document = new Document(value)
  visit(document, {
    Scalar: (_, scalar) => {
      // Only in double quotes there are escapes (YAML 1.2 section 5.7). A text of several lines may stay one.
      if (typeof scalar.value === 'string' && !isPrintable(scalar.value.replaceAll('\n', ''))) scalar.type = 'QUOTE_DOUBLE'
    },
  })
  return printableLines(document.toString({ lineWidth: 0 }).trimEnd())
}
