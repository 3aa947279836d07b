import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface CertificateFixture {
  readonly cert: string
  readonly key: string
  /** Replaces both files by a new pair. */
  renew(name: string): void
  remove(): void
}

/** A self-signed certificate in PEM files of a temporary directory. */
export const makeCertificate = (name = 'first'): CertificateFixture => {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'))
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const renew = (commonName: string) => {
    const subject = ['-subj', `/CN=${commonName}`, '-addext', 'subjectAltName=IP:127.0.0.1']
    const pair = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    execFileSync('openssl', [...pair, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  }
  renew(name)
  return { cert, key, renew, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
