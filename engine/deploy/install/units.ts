/** User, paths and unit names of an installation. */
export const LAYOUT = {
  user: 'video-pipeline',
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

/** systemd.exec(5), for both units; `systemd-analyze security` rates them. */
const HARDENING = [
  'NoNewPrivileges=yes',
  'CapabilityBoundingSet=',
  'AmbientCapabilities=',
  'ProtectSystem=strict',
  'PrivateTmp=yes',
  'ProtectKernelTunables=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelLogs=yes',
  'ProtectControlGroups=yes',
  'ProtectClock=yes',
  'ProtectHostname=yes',
  'RestrictNamespaces=yes',
  'RestrictSUIDSGID=yes',
  'LockPersonality=yes',
  'RestrictRealtime=yes',
  'RemoveIPC=yes',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'UMask=0077',
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

const service = (program: Program, command: string, part: string, more: readonly string[]): readonly string[] => [
  'Type=exec',
  `User=${LAYOUT.user}`,
  `Group=${LAYOUT.user}`,
  `EnvironmentFile=${LAYOUT.configuration}/${part}.env`,
  `Environment=SVC_DATA_DIR=${LAYOUT.state}/${part}`,
  `ExecStart=${quoted(program.node)} ${quoted(program.entry)} ${command}`,
  `StateDirectory=video-pipeline-service video-pipeline-service/${part}`,
  'StateDirectoryMode=0700',
  'Restart=on-failure',
  'RestartSec=1',
  'LimitNOFILE=65536',
  protectHome(program),
  ...HARDENING,
  ...more,
]

/** The engine, with access to cameras and GPUs. It does not depend on the API, so that streams continue while the API restarts. */
export const engineUnit = (program: Program): string =>
  unit({
    Unit: ['Description=Video pipeline service: media engine', 'After=network-online.target', 'Wants=network-online.target'],
    Service: service(program, 'engine', 'engine', [
      // The engine stops its children itself; systemd kills the remaining ones afterwards.
      'KillMode=mixed',
      'TimeoutStopSec=45',
      'SupplementaryGroups=video render',
      'DevicePolicy=closed',
      'DeviceAllow=char-video4linux rw',
      'DeviceAllow=char-drm rw',
      'DeviceAllow=char-media rw',
      'DeviceAllow=char-nvidia rw',
      'DeviceAllow=char-nvidia-uvm rw',
      // GStreamer lists devices over netlink.
      'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
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
    ],
    Service: service(program, 'serve', 'api', [
      'TimeoutStopSec=45',
      'PrivateDevices=yes',
      'ProcSubset=pid',
      'ProtectProc=invisible',
      'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX',
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
