import { readFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { createServer } from 'node:tls'
import { onTestFinished } from 'vitest'
import type { CertificateFixture } from './certificate.ts'

/** Ends the TLS of connections and passes them on to a port of 127.0.0.1, until the test is over; answers its own port. */
export const startTlsFront = async (port: number, { cert, key }: CertificateFixture): Promise<number> => {
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (client) => {
    const behind = connect(port, '127.0.0.1')
    client.pipe(behind).pipe(client)
    client.on('error', () => behind.destroy()).on('close', () => behind.destroy())
    behind.on('error', () => client.destroy())
    onTestFinished(() => void client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}
