import { BlockList, isIP, isIPv4 } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'

/**
 * Whether a connection to this host of an address arrives at this machine, in whatever way it is written. Names are not looked
 * up: only those that every host has for itself are known.
 */
export const isOwnHost = (host: string): boolean => {
  const plain = normalized(host)
  return isIP(plain) === 0 ? isOwnName(plain) : ownAddresses().check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4')
}

/** Whether an output host is "any address" or an address of this machine. */
export const isOwnAddress = (host: string): boolean => {
  if (host === '0.0.0.0' || host === '::' || host === '::1' || (host.startsWith('127.') && isIPv4(host))) return true
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return addresses.some(({ address }) => address.toLowerCase() === host.toLowerCase())
}

/** Without the zone of an IPv6 address (RFC 4007 section 11). */
const withoutZone = (address: string): string => address.split('%', 1)[0] ?? ''

/** Without brackets, zone and final dot; IPv4 in decimal, hexadecimal or with fewer parts is written out, as getaddrinfo(3) takes it. */
const normalized = (host: string): string => {
  const bare = withoutZone(host.replace(/^\[|\]$/g, ''))
  if (bare.includes(':')) return bare.toLowerCase()
  const url = `http://${host}/`
  return (URL.canParse(url) ? new URL(url).hostname : host).toLowerCase().replace(/\.$/, '')
}

/** localhost (RFC 6761 section 6.3), what Debian's /etc/hosts adds, and the name of this host, also that of multicast DNS. */
const isOwnName = (name: string): boolean => {
  const own = hostname().toLowerCase()
  return /^(?:.+\.)?localhost$|^ip6-(?:localhost|loopback)$/.test(name) || name === own || name === `${own}.local`
}

/** An IPv4 address also stands for its form in IPv6 (RFC 4291 section 2.5.5.2); "any address" is the own host to a client. */
const ownAddresses = (): BlockList => {
  const own = new BlockList()
  own.addSubnet('127.0.0.0', 8, 'ipv4')
  own.addAddress('0.0.0.0', 'ipv4')
  own.addAddress('::', 'ipv6')
  own.addAddress('::1', 'ipv6')
  for (const { address, family } of Object.values(networkInterfaces()).flatMap((list) => list ?? []))
    own.addAddress(withoutZone(address), family === 'IPv6' ? 'ipv6' : 'ipv4')
  return own
}
