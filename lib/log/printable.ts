/** Control characters, which could change what a terminal shows, and those that change the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** A foreign text for a terminal, with unprintable characters escaped. */
export const printable = (text: string): string => text.replace(UNPRINTABLE, escaped)

/** The same for several lines of JSON or YAML, where such characters occur in quoted strings only. */
export const printableLines = (text: string): string => text.replace(UNPRINTABLE, (found) => (found === '\n' ? found : escaped(found)))

/** Whether a text has no unprintable character. */
export const isPrintable = (text: string): boolean => printable(text) === text

/** JSON for a terminal or a program, with all unprintable characters escaped. */
export const printableJson = (value: unknown, indent?: number): string => printableLines(JSON.stringify(value, null, indent))

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
