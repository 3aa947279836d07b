import type { Health } from '../api/types.ts'

/** What is wrong with the host of the service, in words. */
export interface HostProblem {
  readonly name: string
  readonly text: string
  /** What to do about it. */
  readonly advice: string
  /** The page where it is done. */
  readonly link?: { readonly href: string; readonly text: string }
  /** Passes by itself in a moment, as at the start of the service: shown only when it lasts. */
  readonly mayPass?: true
}

type Is = (health: Health) => boolean

const warns =
  (name: NonNullable<Health['warnings']>[number]): Is =>
  ({ warnings }) =>
    warnings?.includes(name) === true

const isMissing = warns('gstreamer_missing')
const isFull = warns('disk_full')

/** The gravest first. */
const PROBLEMS: readonly (HostProblem & { readonly is: Is })[] = [
  {
    name: 'gstreamer_missing',
    is: isMissing,
    text: 'GStreamer is missing on the host of this service: no pipeline can play.',
    advice: 'Run “video-pipeline-service doctor” there. It prints the command that installs what is missing.',
  },
  {
    name: 'engine_unavailable',
    is: (health) => health.engine === 'unavailable' && !isMissing(health),
    text: 'The media engine does not answer: nothing plays.',
    advice: 'The service starts it again by itself. If this message stays, look into the log of the service.',
    mayPass: true,
  },
  {
    name: 'database_unavailable',
    is: ({ database }) => database === 'unavailable',
    text: 'The database does not answer: pipelines can be neither read nor changed.',
    advice: 'Check that its server runs, or that its file can be read. The log of the service has the cause.',
    mayPass: true,
  },
  {
    name: 'disk_full',
    is: isFull,
    text: 'The disk of the service is full: changes and screenshots may be lost.',
    advice: 'Free space on the disk of its data directory, or lower the disk limit of the screenshots in the settings.',
  },
  {
    name: 'database_read_only',
    is: (health) => health.database === 'read_only' && !isFull(health),
    text: 'The database cannot be changed: pipelines play, but nothing is saved.',
    advice: 'Make its file and its disk writable for the user of the service.',
  },
  {
    name: 'database_busy',
    is: ({ database }) => database === 'busy',
    text: 'Another program holds the database: changes wait, and fail after 5 seconds.',
    advice: 'Wait until a backup has ended, or end the program that has the file of the database open.',
    mayPass: true,
  },
  {
    name: 'license_expired',
    is: ({ license }) => license === 'expired',
    text: 'The license has expired: what plays goes on, and nothing that needs it starts.',
    advice: 'Put a new license into the file of SVC_LICENSE_FILE.',
  },
  {
    name: 'license_unreadable',
    is: ({ license }) => license === 'unreadable',
    text: 'The license cannot be read.',
    advice: 'Check the file of SVC_LICENSE_FILE.',
  },
  {
    name: 'output_address',
    is: warns('output_address'),
    text: 'This host does not have the address at which pipelines are served.',
    advice: 'Set SVC_OUTPUT_HOST to an address of this host, or to 0.0.0.0 for all.',
  },
  {
    name: 'output_ports',
    is: warns('output_ports'),
    text: 'The port of the outputs is also that of another server on this host: readers cannot connect.',
    advice: 'Set SVC_OUTPUT_PORTS to another port than those of the API and of the media server.',
  },
  {
    name: 'output_certificate',
    is: warns('output_certificate'),
    text: 'The certificate of the outputs cannot be used: readers of rtsps:// cannot connect, or see an old certificate.',
    advice: 'Check that the files of SVC_OUTPUT_TLS_CERT and SVC_OUTPUT_TLS_KEY can be read, belong together and are still valid.',
  },
  {
    name: 'file_sources_folder',
    is: warns('file_sources_folder'),
    text: 'The folder of SVC_ALLOW_FILE_SOURCES is missing: pipelines that play files cannot start.',
    advice: 'Create or mount that folder.',
  },
  {
    name: 'webhook_events_dropped',
    is: warns('webhook_events_dropped'),
    text: 'Events for a webhook were given up in the last 24 hours: its receiver did not take them.',
    advice: 'Check its address and its secret. The log of the service says why it fails (webhook_failed).',
    link: { href: '#/settings', text: 'See the webhooks' },
  },
  {
    name: 'fleet_not_linked',
    is: warns('fleet_not_linked'),
    text: 'The servers of the fleet are not reached: this host goes on with what was desired last.',
    advice: 'If this message stays, check SVC_NATS_URL and the network. The log of the service has the cause.',
    mayPass: true,
  },
  {
    name: 'open_api',
    is: warns('open_api'),
    text: 'Other computers can reach this service, and no password is set.',
    advice: 'Everybody who can reach it may see and change everything.',
    link: { href: '#/settings', text: 'Set a password' },
  },
]

/** What another host reports of its health, in words: as far as this version knows it. */
export const reportedProblems = (health: object): readonly string[] =>
  PROBLEMS.filter(({ is }) => is(health as Health)).map(({ text }) => text)

/** The problems to show. `before`: the health of the report before; what may pass is shown once it was in both. */
export const hostProblems = (health: Health | undefined, before: Health | undefined): readonly HostProblem[] =>
  PROBLEMS.filter(({ is, mayPass }) => health !== undefined && is(health) && (mayPass !== true || (before !== undefined && is(before))))
