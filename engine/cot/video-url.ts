import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import { parseOutputUri } from '../../lib/uri/output-address.ts'

interface VideoUrlOptions {
  /** Address that outputs listen on when their uri names none. */
  readonly outputHost: string
  /** Outputs speak RTSP inside TLS alone. */
  readonly tlsOnly: boolean
}

export type VideoUrl = (output: PipelineConfig['output'], ownAddress: string) => string | null

const ANY = new Set(['0.0.0.0', '::'])

/** The address of an output as others reach it. `ownAddress`: of this host, for outputs that listen on all of its addresses. */
export const createVideoUrl =
  ({ outputHost, tlsOnly }: VideoUrlOptions): VideoUrl =>
  (output, ownAddress) => {
    const address = output === null ? undefined : parseOutputUri(output.uri)
    if (address === undefined) return null
    const host = [address.host, outputHost].find((candidate) => !ANY.has(candidate)) ?? ownAddress
    const inBrackets = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
    return `${tlsOnly ? 'rtsps' : 'rtsp'}://${inBrackets}:${address.port}/${address.path}`
  }
