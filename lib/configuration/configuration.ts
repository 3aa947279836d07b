import { nearest } from '../console/nearest.ts'
import { redact } from '../redact.ts'
import { VARIABLES, type Variable } from './variables.ts'

/** The service cannot start with this configuration; the message names the variable. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}

/** The configuration from the environment; every field is validated. */
export type Configuration = { readonly [Field in keyof typeof VARIABLES]: ValueOf<(typeof VARIABLES)[Field]> }

type ValueOf<V> = V extends Variable<infer T> ? T : never

/** Every variable, for `--help` and docs/configuration.md. */
export const CONFIGURATION_VARIABLES: readonly Pick<Variable<unknown>, 'name' | 'shown' | 'about'>[] = Object.values(VARIABLES)

type Environment = Readonly<Record<string, string | undefined>>

/** Of the command, of workers and of the set-up of a clone. */
const OTHER_VARIABLES = ['SVC_URL', 'SVC_LICENSE', 'SVC_NO_INSTALL']
/** Kubernetes sets these for each Service whose name begins with svc. */
const OF_KUBERNETES = /_SERVICE_HOST$|_SERVICE_PORT|_PORT$|_PORT_\d+_\w/

const KNOWN: ReadonlySet<string> = new Set([...CONFIGURATION_VARIABLES.map(({ name }) => name), ...OTHER_VARIABLES])

/** Variables that begin with SVC_ and have no meaning. */
export const unknownVariables = (environment: Environment): readonly string[] =>
  Object.keys(environment).filter((name) => name.startsWith('SVC_') && !KNOWN.has(name) && !OF_KUBERNETES.test(name))

/** A variable with a spelling mistake would leave out what it was meant to set, such as a password. */
const misspelled = (environment: Environment): readonly string[] =>
  unknownVariables(environment).flatMap((name) => {
    const meant = nearest(name, KNOWN)
    return meant === undefined ? [] : [`${name}: there is no such variable; did you mean ${meant}?`]
  })

/** Reads the environment: the configuration, or one line per mistake. Never quotes the value of a secret. */
export const readConfiguration = (environment: Environment): Configuration | { readonly mistakes: readonly string[] } => {
  const mistakes: string[] = []
  const values: Record<string, unknown> = {}
  for (const [field, variable] of Object.entries(VARIABLES) as [string, Variable<unknown>][]) {
    const value = environment[variable.name] || variable.default
    if (value === undefined) {
      values[field] = variable.unset
      continue
    }
    const parsed = variable.parse(value)
    if ('value' in parsed) values[field] = parsed.value
    else mistakes.push(`${variable.name}${variable.secret ? '' : `=${shown(value)}`}: ${parsed.mistake}`)
  }
  mistakes.push(...misspelled(environment), ...contradictions(environment, values))
  return mistakes.length > 0 ? { mistakes } : (values as unknown as Configuration)
}

/** A user name or password that is not encoded may hold any character, also a slash. */
const shown = (value: string): string => {
  const [begin, end] = [value.indexOf('://'), value.lastIndexOf('@')]
  return redact(begin !== -1 && end > begin ? `${value.slice(0, begin)}://***${value.slice(end)}` : value)
}

/** Mistakes that involve more than one variable; `values` has the fields that are right by themselves. */
const contradictions = (environment: Environment, values: Partial<Configuration>): readonly string[] => {
  const mistakes: string[] = []
  const { engineListen, outputTls, outputTlsCert, outputTlsKey, profile, port, docsPort } = values
  // Reported even when the URL is wrong, so that one run lists all mistakes.
  if (environment.SVC_ENGINE_URL && !environment.SVC_ENGINE_TOKEN) {
    mistakes.push('SVC_ENGINE_TOKEN: set the bearer secret of the engine at SVC_ENGINE_URL')
  }
  if (engineListen !== undefined && (environment.SVC_ENGINE_TOKEN ?? '').length < 16) {
    mistakes.push('SVC_ENGINE_TOKEN: set a secret of at least 16 characters for the engine at SVC_ENGINE_LISTEN')
  }
  if ((outputTlsCert === undefined) !== (outputTlsKey === undefined)) {
    const missing = outputTlsCert === undefined ? 'SVC_OUTPUT_TLS_CERT' : 'SVC_OUTPUT_TLS_KEY'
    mistakes.push(`${missing}: set it too; a certificate and its key belong together`)
  }
  if (outputTls === 'required' && outputTlsCert === undefined && outputTlsKey === undefined) {
    mistakes.push('SVC_OUTPUT_TLS=required: set SVC_OUTPUT_TLS_CERT and SVC_OUTPUT_TLS_KEY')
  }
  if (environment.SVC_NATS_CREDENTIALS && !environment.SVC_NATS_URL) {
    mistakes.push('SVC_NATS_URL: set the address of the servers that SVC_NATS_CREDENTIALS are for')
  }
  if (profile === 'docs' && docsPort !== undefined && docsPort !== 0 && port === docsPort) {
    mistakes.push(`SVC_DOCS_PORT=${docsPort}: use another port than SVC_PORT`)
  }
  return mistakes
}
