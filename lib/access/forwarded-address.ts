const ADDRESS = /^[0-9A-Fa-f:.%]{2,64}$/

/**
 * The client address in a header field such as X-Forwarded-For: its last entry, which the nearest proxy has written; the client
 * may have sent the others. Undefined when it is not an address.
 */
export const forwardedAddress = (header: string | null | undefined): string | undefined => {
  const last = withoutPort(header?.split(',').at(-1)?.trim() ?? '')
  return ADDRESS.test(last) ? last : undefined
}

/** `192.0.2.1:4711` and `[2001:db8::1]:4711` without the port, which differs per connection. */
export const withoutPort = (text: string): string => /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([^:]+):\d+$/.exec(text)?.[1] ?? text
