const MAPPED_IPV4 = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i

/** An IPv4 address that came over IPv6 as such. */
export const plainAddress = (address: string): string => MAPPED_IPV4.exec(address)?.[1] ?? address

/** What counts as one client: an IPv4 address, or an IPv6 /64, the smallest network that one subscriber gets. */
export const clientOf = (address: string | undefined): string => {
  if (address === undefined) return 'unknown'
  const plain = plainAddress(address)
  return plain.includes(':') ? `${networkOf(plain)}::/64` : plain
}

const networkOf = (address: string): string => {
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').toLowerCase().split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  return [...before, ...zeros, ...after]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')
}

/** Scripts, and proxies without SVC_TRUST_PROXY, share the addresses of this host. */
const LOOPBACK_FACTOR = 4

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|0:0:0:0::\/64)$/

/** Whether a client, as `clientOf` names it, is this host. */
export const isThisHost = (client: string): boolean => LOOPBACK.test(client)

/** The bound of a client, as `clientOf` names it; larger for this host. */
export const boundOf = (client: string, bound: number): number => (isThisHost(client) ? bound * LOOPBACK_FACTOR : bound)
