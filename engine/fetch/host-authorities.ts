import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

let authorities: SecureContext | undefined

/** The certificate authorities of the host, which programs of the host trust as well; Node.js has a list of its own. */
export const hostAuthorities = (): SecureContext => {
  authorities ??= createSecureContext({ ca: getCACertificates('system') })
  return authorities
}
