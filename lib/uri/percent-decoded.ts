/** A text of a URI without its percent-encoding. A percent sign that encodes nothing was not meant as one: the text stays as it is. */
export const percentDecoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
