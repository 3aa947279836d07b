const RECEIVER = /^([a-z]+):\/\/(?:[^/?#]*@)?(\[[^\]/?#]*\]|[^/?#:@]*)(?::(\d*))?(\/[^?#]*)?(?:\?([^#]*))?/i

/** The address of a receiver of a push. */
export interface Receiver {
  readonly scheme: string
  /** Without brackets. */
  readonly host: string
  readonly port: string
  /** With its slash. */
  readonly path: string
  readonly query: URLSearchParams
}

/** The parts of a receiver's address; empty texts for what it does not have. */
export const receiverOf = (uri: string): Receiver => {
  const [, scheme = '', host = '', port = '', path = '', query] = RECEIVER.exec(uri) ?? []
  return { scheme: scheme.toLowerCase(), host: host.replace(/^\[|\]$/g, ''), port, path, query: new URLSearchParams(query) }
}
