import { type CameraAccess, type CameraStream, type CameraStreams, deviceService } from '../../../lib/schema/camera.ts'
import { Fault } from '../../faults/fault.ts'
import { plainText } from './plain-text.ts'
import { MEDIA, MEDIA2, type MediaService } from './profiles.ts'
import { SoapClient } from './soap-client.ts'
import { all, textAt, type XmlElement } from './xml.ts'

const DEVICE = 'http://www.onvif.org/ver10/device/wsdl'
/** Profiles of one camera; recorders have one or two for each channel. */
const MAX_PROFILES = 32

/**
 * What a camera says of itself and its streams, by ONVIF. All of it is asked of the host of the address, whatever hosts the camera names.
 * Throws Fault unauthorized, unreachable, timeout, source_error, within 20 s.
 */
export const readCamera = async ({ address, user, password }: CameraAccess): Promise<CameraStreams> => {
  const device = deviceService(address)
  if (device === undefined) throw new Fault('unsupported', 'The address of the camera cannot be read.')
  const client = new SoapClient(user === '' ? undefined : { user, password })
  // Open to all (Core Specification, section 5.9.4.3); where it is not, the clocks have to agree.
  const time = await client.call(device, `<GetSystemDateAndTime xmlns="${DEVICE}"/>`, { isOpen: true }).catch(withoutClock)
  const cameraMs = time && utcOf(time)
  if (cameraMs !== undefined) client.setClock(cameraMs)
  const information = await client.call(device, `<GetDeviceInformation xmlns="${DEVICE}"/>`)
  const profiles = await readProfiles(client, await mediaServices(client, device))
  return {
    manufacturer: plainText(textAt(information, 'Manufacturer')),
    model: plainText(textAt(information, 'Model')),
    firmware: plainText(textAt(information, 'FirmwareVersion')),
    streams: await readStreams(client, device, profiles),
  }
}

/** A camera that is not there, or no camera, fails with this first question. */
const withoutClock = (error: unknown): undefined => {
  if (error instanceof Fault && error.reason === 'unauthorized') return undefined
  throw error
}

interface FoundProfiles {
  readonly url: string
  readonly service: MediaService
  readonly profiles: readonly XmlElement[]
}

/** Media 2 knows H.265; a camera may name it and not have it. */
const mediaServices = async (client: SoapClient, device: string): Promise<readonly (readonly [MediaService, url: string])[]> => {
  try {
    const answer = await client.call(device, `<GetServices xmlns="${DEVICE}"><IncludeCapability>false</IncludeCapability></GetServices>`)
    const urls = new Map(all(answer, 'Service').map((service) => [textAt(service, 'Namespace'), textAt(service, 'XAddr')]))
    return [MEDIA2, MEDIA].flatMap((service) => {
      const url = urls.get(service.namespace)
      return url === undefined ? [] : [[service, onHostOf(device, url)] as const]
    })
  } catch (error) {
    if (!isRefusal(error)) throw error
    // Before version 2.1 of ONVIF.
    const answer = await client.call(device, `<GetCapabilities xmlns="${DEVICE}"><Category>Media</Category></GetCapabilities>`)
    const url = textAt(answer, 'Capabilities', 'Media', 'XAddr')
    return url === undefined ? [] : [[MEDIA, onHostOf(device, url)]]
  }
}

const readProfiles = async (
  client: SoapClient,
  services: readonly (readonly [MediaService, string])[],
): Promise<FoundProfiles | undefined> => {
  for (const [service, url] of services) {
    try {
      const profiles = all(await client.call(url, service.getProfiles), 'Profiles').slice(0, MAX_PROFILES)
      if (profiles.length > 0) return { url, service, profiles }
    } catch (error) {
      if (!isRefusal(error)) throw error
    }
  }
  return undefined
}

const readStreams = async (client: SoapClient, device: string, found: FoundProfiles | undefined): Promise<CameraStream[]> => {
  const streams = new Map<string, CameraStream>()
  for (const profile of found?.profiles ?? []) {
    const { service, url } = found as FoundProfiles
    const token = profile.attributes.get('token')
    if (token === undefined) continue
    try {
      const uri = streamOnHostOf(device, service.uriOf(await client.call(url, service.getStreamUri(token))))
      if (uri !== undefined && !streams.has(uri))
        streams.set(uri, { name: plainText(textAt(profile, 'Name')), uri, ...service.describe(profile) })
    } catch (error) {
      // A profile without video.
      if (!isRefusal(error)) throw error
    }
  }
  return [...streams.values()]
}

const isRefusal = (error: unknown): boolean => error instanceof Fault && (error.reason === 'source_error' || error.reason === 'not_found')

/** The same path and port on the host that was asked for: cameras also name hosts of other networks, and may name anything. */
const onHostOf = (device: string, address: string): string => {
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol)) return device
  const { hostname, protocol, port } = new URL(device)
  return `${protocol}//${hostname}${url.protocol === protocol ? portOf(url) : portOf({ port })}${url.pathname}${url.search}`
}

const portOf = ({ port }: { readonly port: string }): string => (port === '' ? '' : `:${port}`)

/** Likewise of a stream; undefined for what is no address of RTSP or HTTP. */
const streamOnHostOf = (device: string, address: string | undefined): string | undefined => {
  const url = URL.parse(address ?? '')
  if (url === null || !/^(?:rtsps?|https?):$/.test(url.protocol)) return undefined
  return `${url.protocol}//${new URL(device).hostname}${portOf(url)}${url.pathname}${url.search}`
}

/** Milliseconds since the epoch; undefined where it does not say. */
const utcOf = (answer: XmlElement): number | undefined => {
  const at = (...path: string[]): number => Number(textAt(answer, 'SystemDateAndTime', 'UTCDateTime', ...path) ?? Number.NaN)
  const ms = Date.UTC(
    at('Date', 'Year'),
    at('Date', 'Month') - 1,
    at('Date', 'Day'),
    at('Time', 'Hour'),
    at('Time', 'Minute'),
    at('Time', 'Second'),
  )
  return Number.isNaN(ms) ? undefined : ms
}
