import { MASK } from '../redact.ts'

const ADDRESS = /^([a-z][a-z0-9+.-]*):\/\/(?:[^/?#]*@)?(\[[^\]/?#]*\]|[^/?#:@]*)(?::(\d*))?(\/[^?#]*)?(?:\?([^#]*))?/i

/** The address of a source, or of a receiver of a push. */
export interface StreamAddress {
  readonly scheme: string
  /** Without brackets. */
  readonly host: string
  readonly port: string
  /** With its slash. */
  readonly path: string
  readonly query: URLSearchParams
}

/** The parts of an address; empty texts for what it does not have. */
export const streamAddressOf = (uri: string): StreamAddress => {
  const [, scheme = '', host = '', port = '', path = '', query] = ADDRESS.exec(uri) ?? []
  return { scheme: scheme.toLowerCase(), host: host.replace(/^\[|\]$/g, ''), port, path, query: new URLSearchParams(query) }
}

/** Whether it is SRT that waits for its peer, and so needs no host. */
export const isListener = ({ scheme, query }: Pick<StreamAddress, 'scheme' | 'query'>): boolean =>
  scheme === 'srt' && query.get('mode') === 'listener'

const NEEDS_PORT: ReadonlySet<string> = new Set(['srt', 'udp'])

/** Whether the port is valid, and there where the scheme has no default. */
export const hasPort = ({ scheme, port }: StreamAddress): boolean =>
  port === '' ? !NEEDS_PORT.has(scheme) : Number(port) >= 1 && Number(port) <= 65535

// The SRT library refuses what does not hold when the stream starts, without a word about the reason.
const ofSrt = ({ scheme, query }: StreamAddress, name: string): string | null => (scheme === 'srt' ? query.get(name) : null)

/** Whether the mode of SRT, if it has one, is one of these. */
export const hasMode = (address: StreamAddress, modes: readonly string[]): boolean => {
  const mode = ofSrt(address, 'mode')
  return mode === null || modes.includes(mode)
}

/** Whether the passphrase of SRT has the 10 to 79 bytes that SRTO_PASSPHRASE takes, is masked, or is none. */
export const hasPassphrase = (address: StreamAddress): boolean => {
  const passphrase = ofSrt(address, 'passphrase') ?? ''
  const bytes = new TextEncoder().encode(passphrase).length
  return bytes === 0 || passphrase === MASK || (bytes >= 10 && bytes <= 79)
}

/** Whether the latency of SRT, if it has one, is a number of milliseconds. */
export const hasLatency = (address: StreamAddress): boolean => /^\d{1,5}$/.test(ofSrt(address, 'latency') ?? '0')
