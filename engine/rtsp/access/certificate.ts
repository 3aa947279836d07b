import { X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { messageOf } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/ports.ts'

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

/** What a TLS server needs of them. */
export interface LoadedCertificate {
  readonly cert: Buffer
  readonly key: Buffer
}

/** The files are looked at no more often than this. */
const CHECK_EVERY_MS = 1000

/** A certificate with its key, read again when the files change. What cannot be read leaves the one before it in use. */
export class Certificate {
  readonly #files: CertificateFiles
  readonly #log: Log
  #version: string | undefined
  #checkedMs = Number.NEGATIVE_INFINITY
  #check: Promise<LoadedCertificate | undefined> | undefined
  #loaded: LoadedCertificate | undefined
  #lastError: string | undefined

  constructor(files: CertificateFiles, log: Log) {
    this.#files = files
    this.#log = log
  }

  /** The present certificate, undefined until the files can be read. */
  async read(): Promise<LoadedCertificate | undefined> {
    if (this.#check === undefined && performance.now() - this.#checkedMs < CHECK_EVERY_MS) return this.#loaded
    this.#check ??= this.#refresh().finally(() => {
      this.#checkedMs = performance.now()
      this.#check = undefined
    })
    return this.#check
  }

  async #refresh(): Promise<LoadedCertificate | undefined> {
    const { cert, key } = this.#files
    try {
      const version = (await Promise.all([versionOf(cert), versionOf(key)])).join(' ')
      if (version === this.#version) return this.#loaded
      const [certText, keyText] = await Promise.all([readFile(cert), readFile(key)])
      // Throws when one is not PEM, or when they do not belong together: one file may be new and the other not yet.
      createSecureContext({ cert: certText, key: keyText })
      this.#loaded = { cert: certText, key: keyText }
      this.#version = version
      this.#lastError = undefined
      this.#log.info('output_certificate_loaded', { valid_to: new X509Certificate(certText).validTo })
    } catch (error) {
      const message = messageOf(error)
      if (message !== this.#lastError)
        this.#log.error('output_certificate_not_loaded', { error: message, kept: this.#loaded !== undefined })
      this.#lastError = message
    }
    return this.#loaded
  }
}

const versionOf = async (path: string): Promise<string> => {
  const { ino, size, mtimeNs } = await stat(path, { bigint: true })
  return `${ino}:${size}:${mtimeNs}`
}
