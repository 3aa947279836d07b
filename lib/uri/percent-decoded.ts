/** A part of a URI without its percent-encoding; unchanged when the encoding is not valid. */
export const percentDecoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
