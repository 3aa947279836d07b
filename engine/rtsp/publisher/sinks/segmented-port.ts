import { isIPv6 } from 'node:net'
import type { KoffiFunc } from 'koffi'
import type { Datagrams } from '../../../rtp/access-unit.ts'
import { type MessageVector, messageVector } from './message-vector.ts'
import { type PortAddresses, Refusals, type RtpPort } from './rtp-port.ts'

// Values of Linux, the same on every architecture that Node.js runs on.
const [AF_INET, AF_INET6] = [2, 10]
const [SOCK_DGRAM, SOCK_NONBLOCK, SOCK_CLOEXEC] = [2, 0o4000, 0o2000000]
const [EINTR, EIO, EAGAIN, EINVAL, EMSGSIZE, ENOPROTOOPT, ENOBUFS, ECONNREFUSED] = [4, 5, 11, 22, 90, 92, 105, 111]

/** The network card or the route cannot segment: then each packet is sent as its own message. */
const CANNOT_SEGMENT: ReadonlySet<number> = new Set([EMSGSIZE, EINVAL, EIO, ENOPROTOOPT])
const TRY_AGAIN: ReadonlySet<number> = new Set([EAGAIN, ENOBUFS, EINTR])

type Int = KoffiFunc<(...values: readonly (number | Buffer | string)[]) => number>

interface Libc {
  readonly socket: Int
  readonly bind: Int
  readonly connect: Int
  readonly getsockname: Int
  readonly sendmmsg: Int
  readonly close: Int
  readonly inet_pton: Int
  readonly if_nametoindex: Int
  errno(): number
  addressOf(bytes: Buffer): bigint
}

/** Opens ports that send many packets with one system call (UDP_SEGMENT of Linux, udp(7)); no root privilege is needed. */
type OpenPort = (addresses: PortAddresses) => Promise<RtpPort>

let loading: Promise<OpenPort | undefined> | undefined

/** Undefined when the C library cannot be called: then node:dgram is used. Loaded with the first UDP reader. */
export const loadSegmentation = (): Promise<OpenPort | undefined> => {
  loading ??= loadLibc().then(
    (libc) => async (addresses) => openSegmentedPort(libc, addresses),
    () => undefined,
  )
  return loading
}

const loadLibc = async (): Promise<Libc> => {
  const { default: koffi } = await import('koffi')
  if (koffi.sizeof('void *') !== 8) throw new Error('The messages are those of a system with pointers of 8 bytes')
  const library = koffi.load('libc.so.6')
  return {
    socket: library.func('int socket(int domain, int type, int protocol)'),
    bind: library.func('int bind(int fd, const void *address, unsigned int length)'),
    connect: library.func('int connect(int fd, const void *address, unsigned int length)'),
    getsockname: library.func('int getsockname(int fd, void *address, void *length)'),
    sendmmsg: library.func('int sendmmsg(int fd, void *headers, unsigned int count, int flags)'),
    close: library.func('int close(int fd)'),
    inet_pton: library.func('int inet_pton(int family, const char *text, void *address)'),
    if_nametoindex: library.func('unsigned int if_nametoindex(const char *name)'),
    errno: () => koffi.errno(),
    addressOf: (bytes) => koffi.address(bytes),
  }
}

const openSegmentedPort = (libc: Libc, { localAddress, remoteAddress, remotePort }: PortAddresses): RtpPort => {
  const family = isIPv6(localAddress) ? AF_INET6 : AF_INET
  const fd = check(libc, 'socket', libc.socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))
  try {
    const local = socketAddress(libc, family, localAddress, 0)
    check(libc, 'bind', libc.bind(fd, local, local.length))
    const remote = socketAddress(libc, family, remoteAddress, remotePort)
    check(libc, 'connect', libc.connect(fd, remote, remote.length))
    check(libc, 'getsockname', libc.getsockname(fd, local, uint32(local.length)))
    return new SegmentedPort(libc, fd, local.readUInt16BE(2))
  } catch (error) {
    libc.close(fd)
    throw error
  }
}

const check = (libc: Libc, call: string, result: number): number => {
  if (result < 0) throw new Error(`${call} failed with errno ${libc.errno()}`)
  return result
}

/** In the byte order of the host, as system calls expect it. */
const uint32 = (value: number): Buffer => Buffer.from(new Uint32Array([value]).buffer)
const uint16 = (value: number): Buffer => Buffer.from(new Uint16Array([value]).buffer)

/** `struct sockaddr_in` (ip(7)) or `sockaddr_in6` (ipv6(7)). */
const socketAddress = (libc: Libc, family: number, text: string, port: number): Buffer => {
  const [host = '', zone] = text.split('%')
  const address = Buffer.alloc(family === AF_INET6 ? 28 : 16)
  address.set(uint16(family), 0)
  address.writeUInt16BE(port, 2)
  const [at, length] = family === AF_INET6 ? [8, 16] : [4, 4]
  const bytes = address.subarray(at, at + length)
  if (libc.inet_pton(family, host, bytes) !== 1) throw new Error(`${text} is no address of this family`)
  if (zone !== undefined && family === AF_INET6) address.set(uint32(libc.if_nametoindex(zone)), 24)
  return address
}

/** The latest messages: those of an access unit are the same for all readers. */
interface Latest {
  readonly datagrams: Datagrams
  readonly from: number
  readonly to: number
  readonly segmenting: boolean
  readonly vector: MessageVector
}

let latest: Latest | undefined

const vectorOf = (libc: Libc, datagrams: Datagrams, from: number, to: number, segmenting: boolean): MessageVector => {
  if (latest?.datagrams !== datagrams || latest.from !== from || latest.to !== to || latest.segmenting !== segmenting) {
    const vector = messageVector(datagrams, { from, to, segmenting }, libc.addressOf)
    latest = { datagrams, from, to, segmenting, vector }
  }
  return latest.vector
}

class SegmentedPort implements RtpPort {
  readonly port: number
  readonly #libc: Libc
  #fd: number | undefined
  readonly #refusals = new Refusals()
  #segmenting = true

  constructor(libc: Libc, fd: number, port: number) {
    this.#libc = libc
    this.#fd = fd
    this.port = port
  }

  get refusedSinceMs(): number | undefined {
    return this.#refusals.sinceMs()
  }

  send(datagrams: Datagrams, from: number, limit: number): number {
    const to = Math.min(from + limit, datagrams.starts.length - 1)
    let at = from
    while (at < to) {
      const segmenting = this.#segmenting
      const sent = this.#sendSome(datagrams, at, to)
      at += sent
      // Again, without segmenting, when the kernel could not split them.
      if (sent === 0 && this.#segmenting === segmenting) break
    }
    return at - from
  }

  close(): void {
    if (this.#fd !== undefined) this.#libc.close(this.#fd)
    this.#fd = undefined
  }

  /** Sends with one system call; returns how many packets the kernel has taken. */
  #sendSome(datagrams: Datagrams, from: number, to: number): number {
    const fd = this.#fd
    if (fd === undefined) return 0
    const { headers, packets } = vectorOf(this.#libc, datagrams, from, to, this.#segmenting)
    const sent = this.#libc.sendmmsg(fd, headers, packets.length, 0)
    if (sent === packets.length) return to - from
    if (sent < 0) return this.#afterError(this.#libc.errno(), packets[0] ?? 1)
    return packets.slice(0, sent).reduce((sum, count) => sum + count, 0)
  }

  /** Returns how many packets are finished: those that the kernel refuses are lost, as on the network. */
  #afterError(errno: number, count: number): number {
    if (TRY_AGAIN.has(errno)) return 0
    if (this.#segmenting && CANNOT_SEGMENT.has(errno)) {
      this.#segmenting = false
      return 0
    }
    // The error of an earlier packet. This one was not sent.
    if (errno === ECONNREFUSED) this.#refusals.add()
    return count
  }
}
