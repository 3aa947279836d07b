/** A value, or what is wrong with the text and what to use instead. */
export type Parsed<T> = { readonly value: T } | { readonly mistake: string }

const ok = <T>(value: T): Parsed<T> => ({ value })
const mistake = <T>(text: string): Parsed<T> => ({ mistake: text })

/** Takes every text that passes the test. */
const textThat =
  (passes: (value: string) => boolean, advice: string) =>
  (value: string): Parsed<string> =>
    passes(value) ? ok(value) : mistake(advice)

export const text = (value: string): Parsed<string> => ok(value)

export const portNumber = (value: string): Parsed<number> =>
  /^\d{1,5}$/.test(value) && Number(value) <= 65535 ? ok(Number(value)) : mistake('use a port number from 0 to 65535')

export const flag = (value: string): Parsed<boolean> =>
  value === '1' || value === 'true' ? ok(true) : value === '0' || value === 'false' ? ok(false) : mistake('use 0 or 1')

export const flagOrFolder = (value: string): Parsed<boolean | string> => {
  if (value.startsWith('/')) return ok(value === '/' ? true : value.replace(/(?<!\/)\/+$/, ''))
  return value === '1' || value === '0' ? ok(value === '1') : mistake('use 0, 1 or the absolute path of a folder')
}

export const oneOf =
  <const T extends string>(values: readonly T[], advice = `use one of: ${values.join(', ')}`) =>
  (value: string): Parsed<T> => {
    const found = values.find((candidate) => candidate === value)
    return found === undefined ? mistake(advice) : ok(found)
  }

export const url = (schemes: readonly string[]) =>
  textThat(
    (value) => URL.canParse(value) && schemes.includes(new URL(value).protocol),
    `use a URL that starts with one of: ${schemes.join(', ')}`,
  )

/** Whether a text is an http:// or https:// address, and no file. */
export const isAddress = (value: string): boolean => /^https?:\/\//i.test(value)

const anyAddress = url(['http:', 'https:'])

export const fileOrAddress = (value: string): Parsed<string> => (isAddress(value) ? anyAddress(value) : ok(value))

const anyDatabaseUrl = url(['file:', 'libsql:', 'https:', 'http:'])

/** A file without a path would be a database that is lost when the service ends. */
export const databaseUrl = (value: string): Parsed<string> =>
  /^file:(?:\/\/)?(?:$|:memory:|[?#])/.test(value)
    ? mistake('name a file, such as file:///var/lib/video-pipelines.db')
    : anyDatabaseUrl(value)

/** What an API key may be. */
export const API_KEY: RegExp = /^[\x21-\x7e]{16,512}$/

export const apiKey = textThat((value) => API_KEY.test(value), 'use 16 to 512 printable ASCII characters without blanks')

export const newPassword = textThat(
  (value) => [...value].length >= 8 && value.length <= 1024 && !/[\r\n]/.test(value),
  'use 8 to 1024 characters without line breaks',
)

/** Sent in a header field. Files and secrets often end in a line break, which is easily overlooked. */
export const bearer = textThat(
  (value) => /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value),
  'use printable ASCII characters, without a blank or line break at the end',
)

export interface HostAndPort {
  readonly host: string
  readonly port: number
}

const HOST_AND_PORT = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/

export const hostAndPort =
  (leastPort: number) =>
  (value: string): Parsed<HostAndPort> => {
    const [, host, digits] = HOST_AND_PORT.exec(value) ?? []
    const port = Number(digits)
    return host !== undefined && port >= leastPort && port <= 65535 ? ok({ host, port }) : mistake('use host:port')
  }

const anyHostAndPort = hostAndPort(0)

/** To listen at: port 0 takes a free one, and the host has no brackets. */
export const listenAddress = (value: string): Parsed<HostAndPort> => {
  const parsed = anyHostAndPort(value)
  return 'value' in parsed ? ok({ ...parsed.value, host: parsed.value.host.replace(/^\[|\]$/g, '') }) : parsed
}

/** An inclusive range of TCP ports, as in `SVC_OUTPUT_PORTS=50000-55000`. */
export interface PortRange {
  readonly first: number
  readonly last: number
  /** One port for all outputs, as in `SVC_OUTPUT_PORTS=8554`; otherwise each has its own. */
  readonly shared?: true
}

/** `first-last` or a single port, within 1024–65535. */
export const portRange = (value: string): Parsed<PortRange> => {
  const [match, from, to] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(value.trim()) ?? []
  const [first, last] = [Number(from), Number(to ?? from)]
  if (match === undefined || first < 1024 || last > 65535 || first > last)
    return mistake('use first-last or one port within 1024-65535, such as 50000-55000 or 8554')
  return ok({ first, last, ...(to === undefined && { shared: true }) })
}

export const ipAddress = textThat(
  (value) =>
    value.includes(':')
      ? URL.canParse(`http://[${value}]`)
      : /^\d{1,3}(?:\.\d{1,3}){3}$/.test(value) && value.split('.').every((part) => Number(part) <= 255),
  'use an IP address of this machine, or 0.0.0.0 for all',
)

export const regularExpression = (value: string): Parsed<RegExp> => {
  try {
    return ok(new RegExp(value, 'u'))
  } catch {
    return mistake('use a regular expression, such as ^live/')
  }
}

/** The host is copied into a Content-Security-Policy, so it has the characters of a host name only. */
const TILES = /^https?:\/\/(?:\{s\}\.)?[A-Za-z0-9.-]+(?::\d{1,5})?\/[^\s"'<>;,]*$/

export const tileTemplate = textThat(
  (value) => TILES.test(value) && ['{z}', '{x}', '{y}'].every((part) => value.includes(part)),
  'use a template with {z}, {x} and {y}, such as https://tiles.example.org/{z}/{x}/{y}.png',
)

export const headerName = (value: string): Parsed<string> =>
  /^[A-Za-z0-9-]{1,64}$/.test(value) ? ok(value.toLowerCase()) : mistake('use the name of a header field, such as cf-connecting-ip')

export const originList = (value: string): Parsed<readonly string[]> => {
  const origins = value.split(',').map((origin) => origin.trim())
  const areOrigins = origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin)
  return areOrigins ? ok(origins) : mistake('use origins such as https://console.example.org, separated by commas')
}

export const hostList = (value: string): Parsed<readonly string[]> => {
  const names = value.split(',').map((name) => name.trim().toLowerCase())
  return names.every((name) => name === '*' || /^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/.test(name))
    ? ok(names)
    : mistake('use host names such as video.example.org without port, separated by commas, or *')
}

/** IP addresses and host names. */
export const addressList = (value: string): Parsed<readonly string[]> => {
  const hosts = value.split(',').map((host) => host.trim())
  const areHosts = hosts.every(
    (host) => 'value' in ipAddress(host) || /^(?=.*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(host),
  )
  return areHosts ? ok(hosts) : mistake('use IP addresses or host names without port, separated by commas')
}
