import { createHash } from 'node:crypto'
import { nkeys } from '@nats-io/transport-node'

const { createAccount, createOperator, createUser } = nkeys
type KeyPair = ReturnType<typeof createUser>

const base64 = (data: string | Uint8Array): string => Buffer.from(data).toString('base64url')

/** A JWT as `nsc` makes them (NATS ADR-14). */
const sign = (issuer: KeyPair, subject: KeyPair, name: string, nats: object): string => {
  const claims = { iat: Math.floor(Date.now() / 1000), iss: issuer.getPublicKey(), name, sub: subject.getPublicKey(), nats }
  const jti = createHash('sha256').update(JSON.stringify(claims)).digest('hex')
  const body = `${base64(JSON.stringify({ typ: 'JWT', alg: 'ed25519-nkey' }))}.${base64(JSON.stringify({ jti, ...claims }))}`
  return `${body}.${base64(issuer.sign(Buffer.from(body)))}`
}

const NO_LIMIT = { subs: -1, data: -1, payload: -1 }
const ACCOUNT = { ...NO_LIMIT, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 }

/** An operator with an account and a user, for servers that take JWTs. */
export const makeOperator = () => {
  const [operator, account, system, user] = [createOperator(), createAccount(), createAccount(), createUser()]
  const ownJwt = sign(operator, operator, 'operator', { type: 'operator', version: 2, system_account: system.getPublicKey() })
  const accountJwt = (key: KeyPair, limits: object) => sign(operator, key, 'fleet', { type: 'account', version: 2, limits })
  const jwt = sign(account, user, 'host', { type: 'user', version: 2, ...NO_LIMIT, pub: {}, sub: {} })
  const seed = Buffer.from(user.getSeed()).toString()
  return {
    configuration: `operator: ${ownJwt}
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload {
  ${account.getPublicKey()}: ${accountJwt(account, { ...ACCOUNT, mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 })}
  ${system.getPublicKey()}: ${accountJwt(system, ACCOUNT)}
}`,
    /** The content of a .creds file. */
    credentials: `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`,
    jwt,
    seed,
  }
}
