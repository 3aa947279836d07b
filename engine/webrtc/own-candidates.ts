import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'

/** Longest wait for a name server, milliseconds. A name that is not found then is left out. */
const LOOKUP_MS = 2000
/** Host candidates, the first the best (RFC 8445 section 5.1.2). */
const PRIORITY = 2_130_706_431

/** The candidates of an answer: `hosts`, names or addresses, in place of the addresses of this host if there are any. */
export const ownCandidates = async (gathered: readonly string[], hosts: readonly string[], port: number): Promise<readonly string[]> => {
  if (hosts.length === 0) return gathered
  const addresses = (await Promise.all(hosts.map(addressesOf))).flat()
  const named = [...new Set(addresses)].map((address, at) => `${at + 1} 1 UDP ${PRIORITY - at * 256} ${address} ${port} typ host`)
  return named.length === 0 ? gathered : named
}

const addressesOf = async (host: string): Promise<readonly string[]> => {
  if (isIP(host) !== 0) return [host]
  const timeout = new Promise<readonly string[]>((resolve) => setTimeout(resolve, LOOKUP_MS, []).unref())
  const found = lookup(host, { all: true }).then(
    (entries) => entries.map(({ address }) => address),
    () => [],
  )
  return Promise.race([found, timeout])
}
