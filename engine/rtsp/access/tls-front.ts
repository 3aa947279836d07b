import type { Socket } from 'node:net'
import { createServer, type Server } from 'node:tls'
import type { Log } from '../../../lib/ports.ts'
import { Certificate, type CertificateFiles, type LoadedCertificate } from './certificate.ts'

interface TlsFrontOptions {
  readonly files: CertificateFiles
  readonly log: Log
  /** For the first byte, and for the handshake. */
  readonly handshakeMs: number
  /** Called with a connection of plain RTSP, or the decrypted side (a TLSSocket) of one with TLS. */
  readonly onConnection: (socket: Socket) => void
}

/** Content type `handshake` of TLS (RFC 8446 section 5.1): the first byte of a ClientHello, and of no RTSP message. */
const TLS_HANDSHAKE = 0x16

/** Serves RTSP and RTSP over TLS on one port: the first byte of a connection decides. */
export class TlsFront {
  readonly #options: TlsFrontOptions
  readonly #certificate: Certificate
  /** Does not listen; connections are passed to it. */
  readonly #server: Server
  #inUse: LoadedCertificate | undefined

  constructor(options: TlsFrontOptions) {
    this.#options = options
    this.#certificate = new Certificate(options.files, options.log)
    this.#server = createServer({ handshakeTimeout: options.handshakeMs, minVersion: 'TLSv1.2' }, options.onConnection)
    this.#server.on('tlsClientError', (error, socket) => {
      options.log.debug('rtsp_dropped', { reason: error.message, remote: socket.remoteAddress })
      socket.destroy()
    })
    // Logs a mistake in the files at start instead of at the first reader.
    void this.#certificate.read()
  }

  accept(socket: Socket): void {
    const destroy = (): unknown => socket.destroy()
    socket.on('error', destroy)
    socket.setTimeout(this.#options.handshakeMs, destroy)
    const handOver = (take: (socket: Socket) => unknown): void => {
      socket.setTimeout(0)
      socket.off('timeout', destroy)
      take(socket)
    }
    socket.once('data', (chunk: Buffer) => {
      socket.pause()
      socket.unshift(chunk)
      if (chunk[0] !== TLS_HANDSHAKE) handOver(this.#options.onConnection)
      else void this.#certificate.read().then((certificate) => handOver(() => this.#encrypt(socket, certificate)))
    })
  }

  #encrypt(socket: Socket, certificate: LoadedCertificate | undefined): void {
    if (certificate === undefined || socket.destroyed) {
      socket.destroy()
      return
    }
    if (certificate !== this.#inUse) this.#server.setSecureContext({ ...certificate, minVersion: 'TLSv1.2' })
    this.#inUse = certificate
    this.#server.emit('connection', socket)
  }
}
