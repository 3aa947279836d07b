import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeAtomically } from '../screenshots/files/atomic-write.ts'
import { errorCode } from '../screenshots/files/disk-error.ts'

/** The Ed25519 key with which the service signs what it has recorded. */
export interface SigningKey {
  /** In base64. */
  sign(text: string): string
  /** PEM (SubjectPublicKeyInfo). */
  readonly publicKey: string
}

const KEY_FILE = 'recordings-key.pem'

/** Reads the key of the data directory, or makes one. Rejects with the file system's error, and for a file that is no key. */
export const loadSigningKey = async (dataDir: string): Promise<SigningKey> => {
  const path = join(dataDir, KEY_FILE)
  const key = await readFile(path, 'utf8').then(createPrivateKey, async (error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error
    const { privateKey } = generateKeyPairSync('ed25519')
    await writeAtomically(path, Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })))
    return privateKey
  })
  return signingKey(key)
}

const signingKey = (key: KeyObject): SigningKey => ({
  sign: (text) => sign(null, Buffer.from(text), key).toString('base64'),
  publicKey: createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(),
})
