/**
 * A seccomp(2) filter for programs in a sandbox: no other address families than the network's, and none of the calls that mount,
 * trace, load, or make namespaces. GStreamer needs none of them; each is a way to attack the kernel or its other users.
 */

/** Numbers of denied system calls on x86-64 and on ARM64 (unistd.h of Linux); undefined where there is no such call. */
const DENIED: readonly (readonly [name: string, x64: number, arm64: number | undefined])[] = [
  ['ptrace', 101, 117],
  ['process_vm_readv', 310, 270],
  ['process_vm_writev', 311, 271],
  ['kcmp', 312, 272],
  ['pidfd_getfd', 438, 438],
  ['perf_event_open', 298, 241],
  ['bpf', 321, 280],
  ['userfaultfd', 323, 282],
  ['io_uring_setup', 425, 425],
  ['io_uring_enter', 426, 426],
  ['io_uring_register', 427, 427],
  ['mount', 165, 40],
  ['umount2', 166, 39],
  ['open_tree', 428, 428],
  ['move_mount', 429, 429],
  ['fsopen', 430, 430],
  ['fsconfig', 431, 431],
  ['fsmount', 432, 432],
  ['fspick', 433, 433],
  ['mount_setattr', 442, 442],
  ['pivot_root', 155, 41],
  ['chroot', 161, 51],
  ['unshare', 272, 97],
  ['setns', 308, 268],
  ['keyctl', 250, 219],
  ['add_key', 248, 217],
  ['request_key', 249, 218],
  ['syslog', 103, 116],
  ['acct', 163, 89],
  ['quotactl', 179, 60],
  ['swapon', 167, 224],
  ['swapoff', 168, 225],
  ['reboot', 169, 142],
  ['kexec_load', 246, 104],
  ['kexec_file_load', 320, 294],
  ['init_module', 175, 105],
  ['finit_module', 313, 273],
  ['delete_module', 176, 106],
  ['open_by_handle_at', 304, 265],
  ['fanotify_init', 300, 262],
  ['settimeofday', 164, 170],
  ['clock_settime', 227, 112],
  ['clock_adjtime', 305, 266],
  ['adjtimex', 159, 171],
  ['sethostname', 170, 161],
  ['setdomainname', 171, 162],
  ['vhangup', 153, 58],
  ['personality', 135, 92],
  ['lookup_dcookie', 212, 18],
  ['iopl', 172, undefined],
  ['ioperm', 173, undefined],
  ['modify_ldt', 154, undefined],
  ['uselib', 134, undefined],
]

interface Machine {
  /** AUDIT_ARCH_… of linux/audit.h. */
  readonly audit: number
  readonly denied: readonly number[]
  readonly socket: number
  readonly socketPair: number
  readonly clone: number
  readonly clone3: number
}

const defined = (number: number | undefined): readonly number[] => (number === undefined ? [] : [number])

const MACHINES: Readonly<Record<string, Machine>> = {
  x64: { audit: 0xc000003e, denied: DENIED.map(([, x64]) => x64), socket: 41, socketPair: 53, clone: 56, clone3: 435 },
  arm64: {
    audit: 0xc00000b7,
    denied: DENIED.flatMap(([, , arm64]) => defined(arm64)),
    socket: 198,
    socketPair: 199,
    clone: 220,
    clone3: 435,
  },
}

const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10
/** getaddrinfo(3) asks for the addresses of the host over it. */
const AF_NETLINK = 16
/** Of the type of a socket, without its flags (socket(2)). */
const [TYPE_MASK, SOCK_STREAM] = [0xf, 1]
const CLONE_NEWUSER = 0x10000000
/** System calls of the 32-bit ABI x32 have this bit. */
const X32 = 0x40000000

const EPERM = 1
const ENOSYS = 38
const EAFNOSUPPORT = 97

// Codes of classic BPF (linux/bpf_common.h) and actions of seccomp(2).
const LOAD = 0x20
const EQUAL = 0x15
const AT_LEAST = 0x35
const ANY_BIT = 0x45
const AND = 0x54
const RETURN = 0x06
const ALLOW = 0x7fff0000
const KILL = 0x80000000
const errno = (number: number): number => 0x00050000 | number

// Offsets in struct seccomp_data; of an argument the lower half, which is all that the kernel reads of these.
const CALL = 0
const MACHINE = 4
const ARGUMENT = 16
const SECOND_ARGUMENT = 24

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number]

const result = (value: number): Instruction => [RETURN, 0, 0, value]

/** Answers with `answer` when the value that was loaded equals `value`. */
const when = (value: number, answer: number): readonly Instruction[] => [[EQUAL, 0, 1, value], result(answer)]

const program = ({ audit, denied, socket, socketPair, clone, clone3 }: Machine, families: readonly number[]): readonly Instruction[] => [
  [LOAD, 0, 0, MACHINE],
  [EQUAL, 1, 0, audit],
  result(KILL),
  [LOAD, 0, 0, CALL],
  [AT_LEAST, 0, 1, X32],
  result(errno(ENOSYS)),
  ...denied.flatMap((call) => when(call, errno(EPERM))),
  // Its flags are in memory, which a filter cannot read; libc then uses clone(2).
  ...when(clone3, errno(ENOSYS)),
  [EQUAL, 0, 4, clone],
  [LOAD, 0, 0, ARGUMENT],
  [ANY_BIT, 0, 1, CLONE_NEWUSER],
  result(errno(EPERM)),
  result(ALLOW),
  // A datagram socket of a pair can be connected anew, to any program of the host that listens; a stream cannot (unix(7)).
  [EQUAL, 0, 5, socketPair],
  [LOAD, 0, 0, SECOND_ARGUMENT],
  [AND, 0, 0, TYPE_MASK],
  [EQUAL, 1, 0, SOCK_STREAM],
  result(errno(EPERM)),
  result(ALLOW),
  [EQUAL, 0, 2 + 2 * families.length, socket],
  [LOAD, 0, 0, ARGUMENT],
  ...families.flatMap((family) => when(family, ALLOW)),
  result(errno(EAFNOSUPPORT)),
  result(ALLOW),
]

/**
 * The filter as bwrap(1) --seccomp reads it: struct sock_filter, one after the other; undefined for a machine without a table.
 * `localSockets`: sockets of the host's own programs (unix(7)) are allowed too. Those with abstract names belong to the network
 * namespace, so that no mount hides them: X11 and D-Bus listen on such ones.
 */
export const systemCallFilter = (machine: string, { localSockets }: { readonly localSockets: boolean }): Buffer | undefined => {
  const table = MACHINES[machine]
  if (table === undefined) return undefined
  const families = [AF_INET, AF_INET6, AF_NETLINK, ...(localSockets ? [AF_UNIX] : [])]
  return Buffer.concat(
    program(table, families).map(([code, ifTrue, ifFalse, value]) => {
      const instruction = Buffer.alloc(8)
      instruction.writeUInt16LE(code, 0)
      instruction.writeUInt8(ifTrue, 2)
      instruction.writeUInt8(ifFalse, 3)
      instruction.writeUInt32LE(value >>> 0, 4)
      return instruction
    }),
  )
}
