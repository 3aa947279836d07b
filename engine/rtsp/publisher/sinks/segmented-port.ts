import { isIPv6 } from 'node:net'
import type { KoffiFunc } from 'koffi'
import type { Datagrams } from '../../../rtp/access-unit.ts'
import { type PortAddresses, Refusals, type RtpPort } from './rtp-port.ts'

/** Limits of one call: UDP_MAX_SEGMENTS of Linux is 64, its IP packet has at most 65,535 bytes. */
const MAX_SEGMENTS = 44
const MAX_CALL_BYTES = 64_000

// Values of Linux, the same on every architecture that Node.js runs on.
const [AF_INET, AF_INET6] = [2, 10]
const [SOCK_DGRAM, SOCK_NONBLOCK, SOCK_CLOEXEC] = [2, 0o4000, 0o2000000]
const [SOL_UDP, UDP_SEGMENT] = [17, 103]
const [EINTR, EIO, EAGAIN, EINVAL, EMSGSIZE, ENOPROTOOPT, ENOBUFS, ECONNREFUSED] = [4, 5, 11, 22, 90, 92, 105, 111]

/** What the network card or the route cannot do: then each packet has a call of its own. */
const CANNOT_SEGMENT: ReadonlySet<number> = new Set([EMSGSIZE, EINVAL, EIO, ENOPROTOOPT])
const TRY_AGAIN: ReadonlySet<number> = new Set([EAGAIN, ENOBUFS, EINTR])

type Int = KoffiFunc<(...values: readonly (number | Buffer | string)[]) => number>

interface Libc {
  readonly socket: Int
  readonly bind: Int
  readonly connect: Int
  readonly getsockname: Int
  readonly setsockopt: Int
  readonly send: Int
  readonly close: Int
  readonly inet_pton: Int
  readonly if_nametoindex: Int
  errno(): number
}

/** Opens ports that send many packets with one system call (UDP_SEGMENT of Linux, udp(7)); no root privilege is needed. */
type OpenPort = (addresses: PortAddresses) => Promise<RtpPort>

let loading: Promise<OpenPort | undefined> | undefined

/** Undefined where the C library cannot be called: then node:dgram has to do. Loaded with the first UDP reader. */
export const loadSegmentation = (): Promise<OpenPort | undefined> => {
  loading ??= loadLibc().then(
    (libc) => async (addresses) => openSegmentedPort(libc, addresses),
    () => undefined,
  )
  return loading
}

const loadLibc = async (): Promise<Libc> => {
  const { default: koffi } = await import('koffi')
  const library = koffi.load('libc.so.6')
  return {
    socket: library.func('int socket(int domain, int type, int protocol)'),
    bind: library.func('int bind(int fd, const void *address, unsigned int length)'),
    connect: library.func('int connect(int fd, const void *address, unsigned int length)'),
    getsockname: library.func('int getsockname(int fd, void *address, void *length)'),
    setsockopt: library.func('int setsockopt(int fd, int level, int name, const void *value, unsigned int length)'),
    send: library.func('long send(int fd, const void *data, size_t length, int flags)'),
    close: library.func('int close(int fd)'),
    inet_pton: library.func('int inet_pton(int family, const char *text, void *address)'),
    if_nametoindex: library.func('unsigned int if_nametoindex(const char *name)'),
    errno: () => koffi.errno(),
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

/** In the byte order of the host, as the system calls take it. */
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

class SegmentedPort implements RtpPort {
  readonly port: number
  readonly #libc: Libc
  #fd: number | undefined
  readonly #refusals = new Refusals()
  #segmenting = true
  /** Bytes of a segment, as the socket has been told. */
  #segmentBytes = 0

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
      // Once more, one by one, when the kernel could not split them.
      if (sent === 0 && this.#segmenting === segmenting) break
    }
    return at - from
  }

  close(): void {
    if (this.#fd !== undefined) this.#libc.close(this.#fd)
    this.#fd = undefined
  }

  /** Packets of one size, the last of them perhaps smaller, with one call. */
  #sendSome({ data, starts }: Datagrams, from: number, to: number): number {
    const fd = this.#fd
    if (fd === undefined) return 0
    const start = starts[from] ?? 0
    const size = (starts[from + 1] ?? start) - start
    const segments = this.#segmenting ? countOf(starts, from, to, size) : 1
    const count = this.#useSegments(fd, size, segments) ? segments : 1
    const end = starts[from + count] ?? start
    const sent = this.#libc.send(fd, data.subarray(start, end), end - start, 0)
    return sent >= 0 ? count : this.#afterError(this.#libc.errno(), count)
  }

  /** Whether the socket will make so many packets of this size. One that is smaller than a segment stays whole without being told. */
  #useSegments(fd: number, size: number, segments: number): boolean {
    if (!this.#segmenting || size === this.#segmentBytes || (segments === 1 && size < this.#segmentBytes)) return this.#segmenting
    if (this.#libc.setsockopt(fd, SOL_UDP, UDP_SEGMENT, uint32(size), 4) < 0) this.#segmenting = false
    else this.#segmentBytes = size
    return this.#segmenting
  }

  /** How many packets are done with: those that the kernel will not take are lost, as on the network. */
  #afterError(errno: number, count: number): number {
    if (TRY_AGAIN.has(errno)) return 0
    if (this.#segmenting && CANNOT_SEGMENT.has(errno)) {
      this.#segmenting = false
      if (this.#fd !== undefined) this.#libc.setsockopt(this.#fd, SOL_UDP, UDP_SEGMENT, uint32(0), 4)
      return 0
    }
    // The error of an earlier packet. This one was not sent.
    if (errno === ECONNREFUSED) this.#refusals.add()
    return count
  }
}

const countOf = (starts: readonly number[], from: number, to: number, size: number): number => {
  const start = starts[from] ?? 0
  let count = 1
  while (count < MAX_SEGMENTS && from + count < to) {
    const next = (starts[from + count + 1] ?? 0) - (starts[from + count] ?? 0)
    if (next > size || (starts[from + count + 1] ?? 0) - start > MAX_CALL_BYTES) break
    count += 1
    if (next < size) break
  }
  return count
}
