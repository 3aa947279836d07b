/** A host with an optional port (RFC 9110 section 7.2), without characters that could change the URL made of it. */
const HOST = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/** Most requests name the same host as the one before. */
let last: { readonly host: string; readonly name: string | undefined } = { host: '', name: undefined }

/**
 * The name in a Host field without its port, as URLs write it: lower case, IPv4 with dots, IPv6 in brackets. Undefined when the field
 * is not valid.
 */
export const hostName = (host: string): string | undefined => {
  if (last.host !== host) last = { host, name: read(host) }
  return last.name
}

const read = (host: string): string | undefined => {
  const url = `http://${host}`
  return HOST.test(host) && URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : undefined
}
