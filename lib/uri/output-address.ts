/** The parts of `rtsp://<host>:<port>/<id>`; the host may be a bracketed IPv6 address. */
export interface OutputAddress {
  /** IP address without brackets. */
  readonly host: string
  readonly port: number
  readonly path: string
}

const OUTPUT_URI = /^rtsp:\/\/(\[[0-9a-fA-F:.]+\]|\d{1,3}(?:\.\d{1,3}){3}):(\d{1,5})\/([a-zA-Z0-9_-]+)$/

/** Splits an output address, undefined when it is not of the form `rtsp://<host>:<port>/<id>` with a port of 1024–65535. */
export const parseOutputUri = (uri: string): OutputAddress | undefined => {
  const [match, host = '', port, path = ''] = OUTPUT_URI.exec(uri) ?? []
  if (match === undefined || Number(port) < 1024 || Number(port) > 65535) return undefined
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port), path }
}
