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

/** The parts of an address; missing parts are empty. */
export const streamAddressOf = (uri: string): StreamAddress => {
  const [, scheme = '', host = '', port = '', path = '', query] = ADDRESS.exec(uri) ?? []
  return { scheme: scheme.toLowerCase(), host: host.replace(/^\[|\]$/g, ''), port, path, query: new URLSearchParams(query) }
}

/** Whether it is an SRT listener, which needs no host. */
export const isListener = ({ scheme, query }: Pick<StreamAddress, 'scheme' | 'query'>): boolean =>
  scheme === 'srt' && query.get('mode') === 'listener'
