/** RFC 9110 section 7.2: a host with an optional port, and no character that could change the URL made of it. */
const HOST = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/** One request after the other names the same host. */
let last: { readonly host: string; readonly name: string | undefined } = { host: '', name: undefined }

/**
 * The name in a Host field without its port, as URLs write it: lower case, IPv4 with dots, IPv6 in brackets. Undefined: the field is not
 * valid.
 */
export const hostName = (host: string): string | undefined => {
  if (last.host !== host) last = { host, name: read(host) }
  return last.name
}

const read = (host: string): string | undefined => {
  const url = `http://${host}`
  return HOST.test(host) && URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : undefined
}
