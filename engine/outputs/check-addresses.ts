import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import { parseOutputUri } from '../../lib/uri/output-address.ts'
import { streamAddressOf } from '../../lib/uri/stream-address.ts'
import { validationError } from '../../lib/validate.ts'
import { isOwnAddress, isOwnHost } from './own-host.ts'

/** VALIDATION_ERROR when a push goes to the output of its own pipeline. */
export const requireOtherReceivers = ({ output, push }: PipelineConfig): void => {
  const own = output === null ? undefined : parseOutputUri(output.uri)
  if (own === undefined) return
  for (const [index, { uri }] of push.entries()) {
    const { scheme, host, port, path } = streamAddressOf(uri)
    if (!scheme.startsWith('rtsp') || Number(port) !== own.port || path.split('/')[1] !== own.path || !isOwnHost(host)) continue
    throw validationError('pipeline', [{ path: `push.${index}.uri`, message: 'Use a receiver that is not the output of this pipeline' }])
  }
}

/** VALIDATION_ERROR unless the host of the output is an address of this machine. */
export const requireOwnAddress = ({ output }: PipelineConfig): void => {
  const host = output === null ? undefined : parseOutputUri(output.uri)?.host
  if (host === undefined || isOwnAddress(host)) return
  throw validationError('pipeline', [{ path: 'output.uri', message: 'Use 0.0.0.0 or an address of this host' }])
}
