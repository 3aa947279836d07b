import { fileURLToPath } from 'node:url'
import { freePort } from '../ports.ts'
import { temporaryDataDir } from '../process/temporary-data-dir.ts'
import type { CertificateFixture } from '../rtsp/certificate.ts'
import { until } from '../until.ts'
import { type Receiver, startReceiver } from './receivers.ts'

const FIXTURE = fileURLToPath(new URL('../../fixtures/rtmp-media-server.mjs', import.meta.url))

export interface RtmpMediaServer extends Receiver {
  readonly port: number
  readonly tlsPort: number | undefined
}

/** Starts the third-party RTMP server, which takes streams and serves them to players; with rtmps where there is a certificate. */
export const startRtmpMediaServer = async (
  options: { readonly port?: number; readonly certificate?: CertificateFixture } = {},
): Promise<RtmpMediaServer> => {
  const { certificate } = options
  const port = options.port ?? (await freePort())
  const tlsPort = certificate && (await freePort())
  const tls = certificate === undefined ? [] : [String(tlsPort), certificate.cert, certificate.key]
  const receiver = startReceiver(process.execPath, [FIXTURE, temporaryDataDir(), String(port), ...tls])
  await until(
    () => receiver.printed(),
    (text) => /Rtmp Server listening/.test(text) && (tlsPort === undefined || /Rtmps Server listening/.test(text)),
  )
  return { ...receiver, port, tlsPort }
}
