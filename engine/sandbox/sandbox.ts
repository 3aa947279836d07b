import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { SandboxMode } from '../../lib/configuration/variables.ts'

/** What a child may reach beyond the system's libraries and the descriptors it is given. */
export interface Reach {
  readonly network?: boolean
  /** Device nodes, such as `/dev/video0`; those that do not exist are left out. */
  readonly devices?: readonly string[]
  /** Files and folders of the host, read-only; those that do not exist are left out. */
  readonly files?: readonly string[]
  /** Sockets of programs of this host, over which names such as `camera.local` are resolved. */
  readonly localSockets?: boolean
}

interface SandboxHost {
  /** Folders that stay hidden even where the system's folders hold them: the data directory. */
  readonly hidden: readonly string[]
  readonly environment: NodeJS.ProcessEnv
}

/** Of /etc: linker cache, alternatives (libav needs libblas through them), fonts, certificates, names of hosts and drivers. */
const ETC = [
  'ld.so.cache',
  'alternatives',
  'fonts',
  'ssl/certs',
  'ssl/openssl.cnf',
  'ca-certificates',
  'pki/tls/certs',
  'pki/ca-trust/extracted',
  'crypto-policies',
  'gnutls',
  'hosts',
  'host.conf',
  'resolv.conf',
  'nsswitch.conf',
  'gai.conf',
  'localtime',
  'OpenCL',
  'vulkan',
  'glvnd',
  'libva.conf',
] as const

/** Names of the local network (.local) are resolved over this socket; a camera may have one. */
const AVAHI_SOCKET = '/run/avahi-daemon/socket'

/** What GStreamer and its drivers read of the environment; nothing that names a file to write. */
const PASSED_VARIABLE =
  /^(?:GST_(?!DEBUG_FILE$|DEBUG_DUMP_DOT_DIR$|REGISTRY)\w+|LIBVA_\w+|VDPAU_DRIVER|CUDA_VISIBLE_DEVICES|NVIDIA_\w+|TZ)$/

const PLUGIN_PATHS = ['GST_PLUGIN_PATH', 'GST_PLUGIN_PATH_1_0', 'GST_PLUGIN_SYSTEM_PATH', 'GST_PLUGIN_SYSTEM_PATH_1_0'] as const

/** Drivers of cameras and graphics look their device up here. */
const DEVICE_FOLDERS = ['/sys/dev', '/sys/devices', '/sys/class/drm', '/sys/class/video4linux', '/sys/bus/pci', '/sys/bus/usb']

/** On systems with a merged /usr these are links into it; elsewhere folders of their own. */
const SYSTEM_FOLDERS = ['/lib', '/lib32', '/lib64', '/libx32', '/bin', '/sbin']

const systemFolder = (path: string): readonly string[] => {
  if (!existsSync(path)) return []
  return lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
}

// A child of root has no capability, but may still write some files of /proc as their owner.
const PROC_READ_ONLY = ['/proc/sys', '/proc/fs', '/proc/acpi', '/proc/scsi', '/proc/bus', '/proc/irq', '/proc/pressure']
const PROC_HIDDEN = ['/proc/sysrq-trigger', '/proc/kcore', '/proc/kmsg', '/proc/keys', '/proc/timer_list', '/proc/mtrr']

const procOptions = (): readonly string[] => [
  ...['--proc', '/proc'],
  ...PROC_READ_ONLY.filter((path) => existsSync(path)).flatMap((path) => ['--ro-bind', path, path]),
  ...PROC_HIDDEN.filter((path) => existsSync(path)).flatMap((path) => ['--ro-bind', '/dev/null', path]),
]

const readOnly = (path: string): readonly string[] => ['--ro-bind-try', path, path]

const searchPath = (environment: NodeJS.ProcessEnv): readonly string[] =>
  (environment.PATH ?? '/usr/bin:/bin').split(delimiter).filter(Boolean)

/** The absolute path of a program, undefined when it is not installed. */
export const findProgram = (name: string, environment: NodeJS.ProcessEnv): string | undefined =>
  searchPath(environment)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path))

// hlsdemux2 of GStreamer 1.22 may reach the end of a short playlist before parsebin has linked its pads, and fails or hangs;
// the older hlsdemux does not. The rank has no effect where hlsdemux is not installed.
const PREFERRED_ELEMENTS = 'hlsdemux:MAX'
// The older demuxers also open the `file://` addresses that a playlist of the network names; hlsdemux2 and dashdemux2 do not.
const NOT_WITHOUT_SANDBOX = ['hlsdemux', 'dashdemux', 'mssdemux'].map((name) => `${name}:NONE`).join()

/** GST_PLUGIN_FEATURE_RANK of children: the operator's own ranks come last, so that they win. */
export const featureRank = (
  { GST_PLUGIN_FEATURE_RANK: own = '' }: NodeJS.ProcessEnv,
  { sandboxed }: { readonly sandboxed: boolean } = { sandboxed: true },
): string => [sandboxed ? PREFERRED_ELEMENTS : NOT_WITHOUT_SANDBOX, own].filter(Boolean).join()

const variables = (environment: NodeJS.ProcessEnv): readonly string[] =>
  Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && PASSED_VARIABLE.test(name) ? ['--setenv', name, value] : [],
  )

/** Limit of what a child writes, which is kept in memory. */
const TEMPORARY_BYTES = 256 * 1024 * 1024

const limitedFolder = (path: string, limited: boolean): readonly string[] => [
  ...(limited ? ['--size', String(TEMPORARY_BYTES)] : []),
  ...['--tmpfs', path],
]

/**
 * Options of bwrap(1) that every child gets: namespaces of its own for processes, IPC and mounts; read-only system folders; an
 * empty /tmp; no home, no data directory, no environment of the service, no capability. It ends with this process.
 */
const sandboxOptions = ({ hidden, environment }: SandboxHost, limited: boolean): readonly string[] => [
  ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--as-pid-1', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
  ...['--ro-bind', '/usr', '/usr'],
  ...SYSTEM_FOLDERS.flatMap(systemFolder),
  ...ETC.flatMap((name) => readOnly(`/etc/${name}`)),
  ...hidden.filter((folder) => existsSync(folder) && isSystem(folder)).flatMap((folder) => ['--tmpfs', folder]),
  ...procOptions(),
  ...['--dev', '/dev', ...limitedFolder('/dev/shm', limited), ...limitedFolder('/tmp', limited), '--tmpfs', '/run', '--chdir', '/tmp'],
  // After /tmp, which may hold them.
  ...PLUGIN_PATHS.flatMap((name) => (environment[name] ?? '').split(delimiter).filter(Boolean)).flatMap(readOnly),
  '--clearenv',
  ...['--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin', '--setenv', 'HOME', '/tmp', '--setenv', 'LC_ALL', 'C.UTF-8'],
  ...['--setenv', 'GST_DEBUG_NO_COLOR', '1'],
  ...variables(environment),
  ...['--setenv', 'GST_PLUGIN_FEATURE_RANK', featureRank(environment)],
]

const isSystem = (folder: string): boolean =>
  ['/usr/', ...SYSTEM_FOLDERS.map((path) => `${path}/`)].some((root) => `${folder}/`.startsWith(root))

/** Folders made for this child alone; only /tmp and /dev/shm stay writable. */
const SEALED = ['/dev', '/run', '/']

/** Options of bwrap(1) for what one child may reach. `hidden`: folders that no file of `files` may lead to. */
export const reachOptions = (
  { network = false, devices = [], files = [], localSockets = false }: Reach,
  hidden: readonly string[],
): readonly string[] => [
  ...(network ? [] : ['--unshare-net']),
  ...(network && localSockets ? readOnly(AVAHI_SOCKET) : []),
  ...(devices.length > 0 ? DEVICE_FOLDERS.flatMap(readOnly) : []),
  ...devices.flatMap((node) => ['--dev-bind-try', node, node]),
  ...files.flatMap((path) => fileOptions(path, hidden.map(realPath))),
  ...SEALED.flatMap((path) => ['--remount-ro', path]),
]

/** A file of a hidden folder, or one that does not exist, is left out; a folder that holds one is shown without it. */
const fileOptions = (path: string, hidden: readonly string[]): readonly string[] => {
  const real = realPath(path)
  if (hidden.some((folder) => isInside(real, folder))) return []
  const within = hidden.filter((folder) => isInside(folder, real))
  return ['--ro-bind-try', real, path, ...within.flatMap((folder) => ['--tmpfs', join(path, folder.slice(real.length))])]
}

const isInside = (path: string, folder: string): boolean => `${path}/`.startsWith(`${folder}/`)

/** The path without links; as it is when it does not exist. */
const realPath = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** A program that ends at once. */
const TRIAL = ['/usr/bin/true', '/bin/true']

/**
 * The strictest that this bubblewrap can do: 0.8 keeps the child from making namespaces of its own (fewer system calls to attack
 * the kernel with), where the kernel lets it; 0.7 limits what it writes.
 */
const VARIANTS = [
  { options: ['--unshare-user', '--disable-userns'], limited: true },
  { options: [], limited: true },
  { options: [], limited: false },
] as const

const INSTALL = 'bubblewrap is not installed. Install it (apt-get install bubblewrap).'

const REFUSED =
  'Run the service as root, or allow user namespaces for its user (sysctl kernel.unprivileged_userns_clone=1, and on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0). In a container: start it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined (Podman: unmask=ALL).'

type Run = (file: string, args: readonly string[]) => Promise<{ readonly exitCode: number | null; readonly stderr: string }>

/** How children of this process are confined. `reason`: why there is no sandbox, and what to do. */
export type Sandbox =
  | { readonly state: 'on'; readonly bubblewrap: string; readonly options: readonly string[]; readonly hidden: readonly string[] }
  | { readonly state: 'off' | 'unavailable'; readonly reason: string }

/** Tries the sandbox on this host. `run` starts a program without one. */
export const openSandbox = async (mode: SandboxMode, host: SandboxHost, run: Run): Promise<Sandbox> => {
  if (mode === 'off') return { state: 'off', reason: 'The sandbox is disabled (SVC_SANDBOX=off).' }
  const bubblewrap = findProgram('bwrap', host.environment)
  if (bubblewrap === undefined) return { state: 'unavailable', reason: INSTALL }
  const program = TRIAL.find((path) => existsSync(path)) ?? 'true'
  let complaint = ''
  for (const variant of VARIANTS) {
    const options = [...variant.options, ...sandboxOptions(host, variant.limited)]
    const { exitCode, stderr } = await run(bubblewrap, [...options, ...reachOptions({}, []), '--', program])
    if (exitCode === 0) return { state: 'on', bubblewrap, options, hidden: host.hidden }
    complaint = stderr.trim().split('\n').at(-1) ?? ''
  }
  return { state: 'unavailable', reason: `bubblewrap cannot make a sandbox here (${complaint || 'it does not start'}). ${REFUSED}` }
}
