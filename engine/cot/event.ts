import { hostname } from 'node:os'
import type { Geolocation } from '../../lib/schema/pipeline.ts'
import { turned } from '../../lib/st0601/attitude.ts'
import { type KlvPacket, numberOfTag } from '../../lib/st0601/packet.ts'

/** Where a pipeline's sensor is. */
interface CotSubject {
  readonly id: string
  /** The newest packet with a position, and that position. */
  readonly packet: KlvPacket
  readonly geolocation: Geolocation
  /** Where the video can be read; null when it is not published. */
  readonly videoUrl: string | null
}

/** Atom, friendly, air, military, fixed wing, drone. */
const TYPE = 'a-f-A-M-F-Q'
/** Found by a machine from satellite navigation. */
const HOW = 'm-g'
/** What CoT writes for a height or an error that is not known, metres. */
const UNKNOWN_M = '9999999.0'
const STALE_AFTER_MS = 10_000
/** A packet whose clock is further off is dated by the clock of this host. */
const MAX_CLOCK_ERROR_MS = 10_000

/**
 * One Cursor on Target event (event schema 2.0) with the position of a sensor. `now` in milliseconds since the epoch. Its height
 * above the ellipsoid is that of the geolocation: tag 104, else 75, else 15 (which is above sea level). `host`: pipelines of several hosts
 * may have the same id.
 */
export const cotEvent = ({ id, packet, geolocation, videoUrl }: CotSubject, now: number, host = hostname()): string => {
  const { latitude, longitude, altitude } = geolocation
  const at = timeOf(packet, now)
  const [time, stale] = [new Date(at).toISOString(), new Date(at + STALE_AFTER_MS).toISOString()]
  const hae = altitude === null ? UNKNOWN_M : altitude.toFixed(2)
  return [
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n',
    `<event${attributes({ version: '2.0', uid: `${host}/${id}`, type: TYPE, how: HOW, time, start: time, stale })}>`,
    `<point${attributes({ lat: latitude.toFixed(7), lon: longitude.toFixed(7), hae, ce: UNKNOWN_M, le: UNKNOWN_M })}/>`,
    `<detail><contact${attributes({ callsign: id })}/>`,
    sensorElement(packet),
    videoUrl === null ? '' : `<__video${attributes({ url: videoUrl })}/>`,
    '</detail></event>',
  ].join('')
}

const timeOf = ({ timestampUs }: KlvPacket, now: number): number => {
  const sent = timestampUs === null ? Number.NaN : Math.floor(timestampUs / 1000)
  return Math.abs(sent - now) <= MAX_CLOCK_ERROR_MS ? sent : now
}

/** Azimuth in degrees from true north, horizontal field of view in degrees (tag 16), slant range in metres (tag 21). */
const sensorElement = (packet: KlvPacket): string => {
  const [azimuth, fov, range] = [azimuthOf(packet), numberOfTag(packet, 16), numberOfTag(packet, 21)]
  if (azimuth === null && fov === null && range === null) return ''
  return `<sensor${attributes({ azimuth: azimuth?.toFixed(2), fov: fov?.toFixed(2), range: range?.toFixed(1) })}/>`
}

/** Where the sensor looks: the heading (tag 5) and the angles of the sensor (18, 19) on a platform that may be inclined (6, 7 or 90, 91). */
const azimuthOf = (packet: KlvPacket): number | null => {
  const angle = (tag: number): number => numberOfTag(packet, tag) ?? 0
  const heading = numberOfTag(packet, 5)
  if (heading === null) return null
  const sensor = { yaw: angle(18), pitch: angle(19), roll: 0 }
  const platform = { yaw: heading, pitch: numberOfTag(packet, 90) ?? angle(6), roll: numberOfTag(packet, 91) ?? angle(7) }
  const [north, east] = turned(turned([1, 0, 0], sensor), platform)
  // Straight down there is no azimuth but that of the top of the picture.
  const degrees = Math.hypot(north, east) < 1e-3 ? heading + sensor.yaw : (Math.atan2(east, north) * 180) / Math.PI
  return Number((((degrees % 360) + 360) % 360).toFixed(2)) % 360
}

const attributes = (values: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(values)
    .map(([name, value]) => (value === undefined ? '' : ` ${name}="${escaped(value)}"`))
    .join('')

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

/** Text of an attribute (XML 1.0 section 2.4), without the characters that XML cannot have (section 2.2). */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the point
    .replace(/[\u0000-\u001f\u007f\ufffd-\uffff]/g, '')
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
