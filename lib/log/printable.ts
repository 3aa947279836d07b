/** Control characters, which could rewrite what a terminal shows, and those that change the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** A text of others for a terminal: what is not printable is escaped. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
