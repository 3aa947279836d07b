import { BlockList, isIPv6 } from 'node:net'

const listOf = (...subnets: readonly (readonly [string, number])[]): BlockList => {
  const list = new BlockList()
  for (const [address, bits] of subnets) list.addSubnet(address, bits, isIPv6(address) ? 'ipv6' : 'ipv4')
  return list
}

/** RFC 6890: what is not reachable from everywhere. Those in front count. */
const CLASSES = [
  ['loopback', listOf(['127.0.0.0', 8], ['0.0.0.0', 8], ['::', 127])],
  ['private', listOf(['10.0.0.0', 8], ['172.16.0.0', 12], ['192.168.0.0', 16], ['100.64.0.0', 10], ['fc00::', 7])],
  ['local', listOf(['169.254.0.0', 16], ['224.0.0.0', 3], ['192.0.0.0', 24], ['198.18.0.0', 15], ['fe80::', 10], ['ff00::', 8])],
  // IPv4 inside of IPv6 addresses that a gateway translates.
  ['translated', listOf(['64:ff9b::', 32], ['2002::', 16])],
] as const

type AddressClass = (typeof CLASSES)[number][0] | 'public'

const classOf = (ip: string): AddressClass => {
  const family = isIPv6(ip) ? 'ipv6' : 'ipv4'
  return CLASSES.find(([, list]) => list.check(ip, family))?.[0] ?? 'public'
}

/**
 * Whether a playlist that came from one IP address may name another: a public one any may; those of a class that is not reachable from
 * everywhere only a playlist from that class, so that nobody out there can use this host to reach what only it can.
 */
export const mayName = (playlistIp: string, ip: string): boolean => {
  const [from, to] = [classOf(playlistIp), classOf(ip)]
  return to === 'public' || to === from || (from === 'loopback' && to === 'private')
}
