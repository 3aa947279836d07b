import { dirname } from 'node:path'

/** Users, paths and unit names of an installation. */
export const LAYOUT = {
  apiUser: 'video-pipeline-api',
  engineUser: 'video-pipeline-engine',
  /** Of installations where API and engine were one user. */
  formerUser: 'video-pipeline',
  /** The groups that may use cameras and GPUs. */
  deviceGroups: ['video', 'render'],
  configuration: '/etc/video-pipeline-service',
  state: '/var/lib/video-pipeline-service',
  units: '/etc/systemd/system',
  apiUnit: 'video-pipeline-api.service',
  engineUnit: 'video-pipeline-engine.service',
} as const

const ENGINE_ADDRESS = '127.0.0.1:9100'

export interface Program {
  /** Absolute path of Node. */
  readonly node: string
  /** Absolute path of this package's command. */
  readonly entry: string
}

/** By default systemd gives up after five starts within 10 s, for good: a database server may be away for longer. */
const STARTED_FOR_EVER = 'StartLimitIntervalSec=0'

/** systemd.exec(5), for both units; `systemd-analyze security` rates them. */
const HARDENING = [
  'NoNewPrivileges=yes',
  'CapabilityBoundingSet=',
  'AmbientCapabilities=',
  'ProtectSystem=strict',
  'PrivateTmp=yes',
  'ProtectKernelModules=yes',
  'ProtectControlGroups=yes',
  'ProtectClock=yes',
  'ProtectHostname=yes',
  'RestrictSUIDSGID=yes',
  'LockPersonality=yes',
  'RestrictRealtime=yes',
  'RemoveIPC=yes',
  'SystemCallArchitectures=native',
  'SystemCallErrorNumber=EPERM',
  'UMask=0077',
  // Programs come with packages; a file that the service can write is none.
  'NoExecPaths=/tmp /var -/run -/dev/shm',
  'InaccessiblePaths=-/boot -/run/docker.sock -/run/containerd -/run/podman -/run/crio',
]

/**
 * What bubblewrap needs to confine children: namespaces, mounts in them, and a /proc that nothing is mounted over, since the
 * kernel allows a new one only then (so no ProtectKernelTunables, ProtectKernelLogs or ProcSubset). The user of the engine has no
 * capability, so that it may not write there anyway, and children see no more of /proc than themselves.
 */
const MAKES_SANDBOXES = [
  'RestrictNamespaces=user mnt pid ipc net uts cgroup',
  'SystemCallFilter=@system-service @mount',
  'ProtectProc=invisible',
]

const MAKES_NO_NAMESPACE = [
  'RestrictNamespaces=yes',
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @resources',
  'ProtectKernelTunables=yes',
  'ProtectKernelLogs=yes',
  'ProcSubset=pid',
  'ProtectProc=invisible',
  'PrivateUsers=yes',
]

/** A package in a home directory runs only when the units may read it. */
const protectHome = ({ node, entry }: Program): string =>
  [node, entry].some((path) => /^\/(home|root|run\/user)\//.test(path)) ? 'ProtectHome=read-only' : 'ProtectHome=yes'

/** systemd.service(5) splits commands at blanks and expands % and $. */
const quoted = (path: string): string =>
  `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`

const unit = (sections: Readonly<Record<string, readonly string[]>>): string =>
  Object.entries(sections)
    .map(([name, lines]) => [`[${name}]`, ...lines, ''].join('\n'))
    .join('\n')

/** Node and the package may be where nothing else may be executed. */
const execPaths = ({ node, entry }: Program): string => `ExecPaths=${quoted(dirname(node))} ${quoted(dirname(dirname(entry)))}`

const service = (
  program: Program,
  { command, part, user }: { readonly command: string; readonly part: string; readonly user: string },
  more: readonly string[],
): readonly string[] => [
  'Type=exec',
  `User=${user}`,
  `Group=${user}`,
  `EnvironmentFile=${LAYOUT.configuration}/${part}.env`,
  `Environment=SVC_DATA_DIR=${LAYOUT.state}/${part}`,
  `ExecStart=${quoted(program.node)} ${quoted(program.entry)} ${command}`,
  `StateDirectory=video-pipeline-service/${part}`,
  'StateDirectoryMode=0700',
  'Restart=on-failure',
  'RestartSec=1',
  // EX_CONFIG: the next start would end in the same way, until somebody corrects the configuration.
  'RestartPreventExitStatus=78',
  'LimitNOFILE=65536',
  protectHome(program),
  execPaths(program),
  ...HARDENING,
  ...more,
]

/** The engine, with access to cameras and GPUs. It does not depend on the API, so that streams continue while the API restarts. */
export const engineUnit = (program: Program): string =>
  unit({
    Unit: [
      'Description=Video pipeline service: media engine',
      'After=network-online.target',
      'Wants=network-online.target',
      STARTED_FOR_EVER,
    ],
    Service: service(program, { command: 'engine', part: 'engine', user: LAYOUT.engineUser }, [
      ...MAKES_SANDBOXES,
      // The engine stops its children itself; systemd kills the remaining ones afterwards.
      'KillMode=mixed',
      'TimeoutStopSec=45',
      `SupplementaryGroups=${LAYOUT.deviceGroups.join(' ')}`,
      'DevicePolicy=closed',
      'DeviceAllow=char-video4linux rw',
      'DeviceAllow=char-drm rw',
      'DeviceAllow=char-media rw',
      'DeviceAllow=char-nvidia rw',
      'DeviceAllow=char-nvidia-uvm rw',
      // GStreamer lists devices over netlink.
      'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
      // A child that takes too much memory ends alone; its pipeline is started again.
      'OOMPolicy=continue',
      'MemoryMax=80%',
      'TasksMax=16384',
    ]),
    Install: ['WantedBy=multi-user.target'],
  })

/** The API, without access to devices. */
export const apiUnit = (program: Program): string =>
  unit({
    Unit: [
      'Description=Video pipeline service: API',
      `After=network-online.target ${LAYOUT.engineUnit}`,
      `Wants=network-online.target ${LAYOUT.engineUnit}`,
      STARTED_FOR_EVER,
    ],
    Service: service(program, { command: 'serve', part: 'api', user: LAYOUT.apiUser }, [
      ...MAKES_NO_NAMESPACE,
      'TimeoutStopSec=45',
      'PrivateDevices=yes',
      'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX',
      'MemoryMax=2G',
      'TasksMax=256',
    ]),
    Install: ['WantedBy=multi-user.target'],
  })

export const apiEnvironment = (apiKey: string, engineToken: string): string =>
  [
    '# Variables of the API; video-pipeline-service serve --help lists them. Contains secrets: keep mode 0600.',
    `SVC_API_KEY=${apiKey}`,
    `SVC_ENGINE_URL=http://${ENGINE_ADDRESS}`,
    `SVC_ENGINE_TOKEN=${engineToken}`,
    '#SVC_HOST=127.0.0.1',
    '#SVC_PORT=8080',
    '',
  ].join('\n')

export const engineEnvironment = (engineToken: string): string =>
  [
    '# Variables of the engine. Contains a secret: keep mode 0600.',
    `SVC_ENGINE_LISTEN=${ENGINE_ADDRESS}`,
    `SVC_ENGINE_TOKEN=${engineToken}`,
    '#SVC_OUTPUT_PORTS=50000-55000',
    '',
  ].join('\n')
