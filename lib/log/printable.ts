/** Control characters, which could rewrite what a terminal shows, and those that change the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** A text of others for a terminal: what is not printable is escaped. */
export const printable = (text: string): string => text.replace(UNPRINTABLE, escaped)

/** The same for a text of many lines in which only escaped strings can have such characters: JSON, or YAML in double quotes. */
export const printableLines = (text: string): string => text.replace(UNPRINTABLE, (found) => (found === '\n' ? found : escaped(found)))

/** Whether nothing in a text is to be escaped. */
export const isPrintable = (text: string): boolean => printable(text) === text

/** JSON for a terminal or a program: what JSON leaves as it is, such as the direction of text, is escaped too. */
export const printableJson = (value: unknown, indent?: number): string => printableLines(JSON.stringify(value, null, indent))

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
