/** The text of an answer of up to `limit` bytes; throws `tooLong` when there are more. */
export const readAtMost = async (response: Response, limit: number, tooLong: () => Error): Promise<string> => {
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > limit) throw tooLong()
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
