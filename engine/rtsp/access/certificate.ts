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

/** Their contents. */
export interface LoadedCertificate {
  readonly cert: Buffer
  readonly key: Buffer
}

/** Least time between two checks of the files. */
const CHECK_EVERY_MS = 1000

/** A certificate with its key, read again when the files change. The previous one stays in use when they cannot be read. */
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
      this.#loaded = await loadCertificate(this.#files)
      this.#version = version
      this.#lastError = undefined
      this.#log.info('output_certificate_loaded', { valid_to: new X509Certificate(this.#loaded.cert).validTo })
    } catch (error) {
      const message = messageOf(error)
      if (message !== this.#lastError)
        this.#log.error('output_certificate_not_loaded', { error: message, kept: this.#loaded !== undefined })
      this.#lastError = message
    }
    return this.#loaded
  }
}

/** Throws when a file cannot be read or is not PEM, or when they do not match: one may have been replaced before the other. */
export const loadCertificate = async (files: CertificateFiles): Promise<LoadedCertificate> => {
  const [cert, key] = await Promise.all([readFile(files.cert), readFile(files.key)])
  createSecureContext({ cert, key })
  return { cert, key }
}

const versionOf = async (path: string): Promise<string> => {
  const { ino, size, mtimeNs } = await stat(path, { bigint: true })
  return `${ino}:${size}:${mtimeNs}`
}
