/** The address of an output for readers: one that listens on all addresses is reached at the host of the API. */
export const readerAddress = (uri: string, apiHost: string): string =>
  uri.replace(/^(rtsps?:\/\/)(?:0\.0\.0\.0|\[::\])(?=:)/, `$1${apiHost}`)
