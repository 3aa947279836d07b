const MAX_CHARACTERS = 128
/** Control characters, and those that change the direction of what follows. */
const UNSEEN = /[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu

/** What a camera says of itself, as one short line; null when nothing is left. */
export const plainText = (text: string | undefined): string | null =>
  (text ?? '').replaceAll(UNSEEN, ' ').trim().slice(0, MAX_CHARACTERS) || null
