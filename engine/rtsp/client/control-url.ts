const ABSOLUTE = /^rtsps?:\/\//i

/** The URL of a control attribute (RFC 2326 appendix C.1.1): absolute, relative to the base, or the base itself (`*` or none). */
export const controlUrl = (base: string, control: string | undefined): string => {
  if (control === undefined || control === '' || control === '*') return base
  if (ABSOLUTE.test(control)) return control
  // RTSP servers do not expect the resolution of RFC 3986: the control follows the whole base, including its query.
  return base.endsWith('/') || control.startsWith('/') ? `${base}${control}` : `${base}/${control}`
}

/** The base of a description: the one that the server sends when it is a URL, else the URL of the request. */
export const baseUrl = (given: string, requested: string): string => (ABSOLUTE.test(given) ? given : requested)
