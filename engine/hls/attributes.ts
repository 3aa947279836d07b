export type Attributes = ReadonlyMap<string, string>

const MAX_ATTRIBUTES = 100

/** Parses an attribute list (RFC 8216 section 4.2), quotes removed, in linear time. What has no equals sign is ignored. */
export const parseAttributes = (text: string): Attributes => {
  const attributes = new Map<string, string>()
  for (let at = 0; at < text.length && attributes.size < MAX_ATTRIBUTES; ) {
    const equals = text.indexOf('=', at)
    if (equals === -1) break
    const name = text.slice(at, equals).trim()
    const isQuoted = text[equals + 1] === '"'
    const close = isQuoted ? text.indexOf('"', equals + 2) : -1
    const comma = text.indexOf(',', close === -1 ? equals : close)
    const end = comma === -1 ? text.length : comma
    attributes.set(name, close === -1 ? text.slice(equals + 1, end).trim() : text.slice(equals + 2, close))
    at = end + 1
  }
  return attributes
}
