import { randomUUID } from 'node:crypto'
import type { NetworkCamera } from '../../../lib/schema/camera.ts'
import { percentDecoded } from '../../../lib/uri/percent-decoded.ts'
import { plainText } from './plain-text.ts'
import { all, find, parseXml, textAt, type XmlElement } from './xml.ts'

/** What cameras of ONVIF are: of profile S, and devices at large (ONVIF Core Specification, section 7.3.1). */
const TYPES = ['dn:NetworkVideoTransmitter', 'tds:Device'] as const

/** Probe messages of WS-Discovery (April 2005, section 5.2), which devices answer that have one of the types. */
export const probeMessages = (): readonly Buffer[] =>
  TYPES.map((type) =>
    Buffer.from(
      '<?xml version="1.0" encoding="UTF-8"?><e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope" ' +
        'xmlns:w="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery" ' +
        'xmlns:dn="http://www.onvif.org/ver10/network/wsdl" xmlns:tds="http://www.onvif.org/ver10/device/wsdl"><e:Header>' +
        `<w:MessageID>urn:uuid:${randomUUID()}</w:MessageID><w:To>urn:schemas-xmlsoap-org:ws:2005:04:discovery</w:To>` +
        '<w:Action>http://schemas.xmlsoap.org/ws/2005/04/discovery/Probe</w:Action></e:Header>' +
        `<e:Body><d:Probe><d:Types>${type}</d:Types></d:Probe></e:Body></e:Envelope>`,
    ),
  )

/** Of one answer. */
const MAX_MATCHES = 8

/**
 * The cameras that an answer to a probe names; none for what is no answer. Whatever address it names, a camera is at the one that the
 * answer came from: nobody can have passwords sent to another host.
 */
export const readProbeMatches = (message: string, sender: string): readonly (NetworkCamera & { readonly endpoint: string })[] => {
  const matches = find(parseXml(message), 'Body', 'ProbeMatches')
  return all(matches, 'ProbeMatch')
    .slice(0, MAX_MATCHES)
    .flatMap((match) => {
      const address = addressOf(match, sender)
      if (address === undefined) return []
      const scopes = (textAt(match, 'Scopes') ?? '').split(/\s+/)
      return [
        {
          endpoint: textAt(match, 'EndpointReference', 'Address') ?? address,
          address,
          name: scopeOf(scopes, 'name'),
          hardware: scopeOf(scopes, 'hardware'),
          location: scopeOf(scopes, 'location'),
        },
      ]
    })
}

/** The first address of HTTP, else of HTTPS, whose certificate is mostly one that nobody can check; on the host of the sender. */
const addressOf = (match: XmlElement, sender: string): string | undefined => {
  const addresses = (textAt(match, 'XAddrs') ?? '').split(/\s+/).flatMap((text) => {
    const url = URL.parse(text)
    return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? [url] : []
  })
  const own = addresses.filter(({ hostname }) => hostname === sender)
  const choice = own.length > 0 ? own : addresses
  const chosen = choice.find(({ protocol }) => protocol === 'http:') ?? choice[0]
  return chosen === undefined ? undefined : `${chosen.protocol}//${sender}${chosen.port === '' ? '' : `:${chosen.port}`}${chosen.pathname}`
}

/** `onvif://www.onvif.org/<kind>/<value>` (section 7.3.3); null without one. */
const scopeOf = (scopes: readonly string[], kind: string): string | null => {
  const prefix = `onvif://www.onvif.org/${kind}/`
  const scope = scopes.find((text) => text.toLowerCase().startsWith(prefix))
  return scope === undefined ? null : plainText(percentDecoded(scope.slice(prefix.length)))
}
