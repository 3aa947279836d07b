/**
 * The encoding of a value.
 * `mapped`: unsigned integer spread linearly over min…max. `mapped_signed`: two's complement spread over ±max, its most
 * negative number reserved ("out of range" or "error"). `uint`, `int`: the integer times `step`. `imapb`: MISB ST 1201.
 * `time_us`: microseconds since 1970, unsigned. `ratio`: two BER-OID numbers. `set`, `pack`: nested structure, not decoded.
 */
export type TagType = 'mapped' | 'mapped_signed' | 'uint' | 'int' | 'imapb' | 'text' | 'time_us' | 'ratio' | 'set' | 'pack'

export interface Tag {
  readonly tag: number
  /** The standard's name. */
  readonly name: string
  /** The name in snake_case, as in JSON. */
  readonly key: string
  /** Unit of the decoded value, null when it has none. */
  readonly unit: string | null
  readonly type: TagType
  /** Bounds of the decoded value; for `uint` and `int` what the length can hold. */
  readonly min: number
  readonly max: number
  /** Encoded length in bytes; 0 when it depends on the value. */
  readonly length: number
  /** Shortest and longest length that a decoder accepts; both are `length` when the standard fixes it. */
  readonly minLength: number
  readonly maxLength: number
  /** The integer that the standard reserves as invalid, null when every bit pattern is a value. */
  readonly invalid: number | null
  /** Value of one integer step (`uint`, `int`). */
  readonly step: number
}

/** More than any text of the standard (127 bytes); longer text stays raw. */
const MAX_TEXT_BYTES = 1024
const MAX_NESTED_BYTES = 2 ** 24

const snakeCase = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')

const row = (tag: number, name: string, unit: string, type: TagType, min: number, max: number, length: number): Tag => ({
  ...{ tag, name, key: snakeCase(name), unit: unit === '' ? null : unit, type, min, max },
  ...{ length, minLength: length, maxLength: length },
  invalid: type === 'mapped_signed' ? -(2 ** (8 * length - 1)) : null,
  step: 1,
})

const upTo = (maxLength: number, fixed: Tag): Tag => ({ ...fixed, minLength: 1, maxLength })
const mapped = (tag: number, name: string, unit: string, length: number, min: number, max: number) =>
  row(tag, name, unit, 'mapped', min, max, length)
const signed = (tag: number, name: string, unit: string, length: number, max: number) =>
  row(tag, name, unit, 'mapped_signed', -max, max, length)
const uint = (tag: number, name: string, unit: string, length: number) => row(tag, name, unit, 'uint', 0, 2 ** (8 * length) - 1, length)
const int = (tag: number, name: string, unit: string, length: number) =>
  row(tag, name, unit, 'int', -(2 ** (8 * length - 1)), 2 ** (8 * length - 1) - 1, length)
const steps = (tag: number, name: string, unit: string, step: number): Tag => ({ ...uint(tag, name, unit, 1), max: 255 * step, step })
const imapb = (tag: number, name: string, unit: string, min: number, max: number, length: number, maxLength: number) =>
  upTo(maxLength, row(tag, name, unit, 'imapb', min, max, length))
const text = (tag: number, name: string) => upTo(MAX_TEXT_BYTES, row(tag, name, '', 'text', 0, 0, 0))
const time = (tag: number, name: string) => row(tag, name, 'us', 'time_us', 0, Number.MAX_SAFE_INTEGER, 8)
const nested = (type: 'set' | 'pack') => (tag: number, name: string) => upTo(MAX_NESTED_BYTES, row(tag, name, '', type, 0, 0, 0))
const set = nested('set')
const pack = nested('pack')

/** Every tag of MISB ST 0601.19, in the order of its table 1; tag n is described in section 8.n. */
export const TAGS: readonly Tag[] = [
  uint(1, 'Checksum', '', 2),
  time(2, 'Precision Time Stamp'),
  text(3, 'Mission ID'),
  text(4, 'Platform Tail Number'),
  mapped(5, 'Platform Heading Angle', 'deg', 2, 0, 360),
  signed(6, 'Platform Pitch Angle', 'deg', 2, 20),
  signed(7, 'Platform Roll Angle', 'deg', 2, 50),
  uint(8, 'Platform True Airspeed', 'm/s', 1),
  uint(9, 'Platform Indicated Airspeed', 'm/s', 1),
  text(10, 'Platform Designation'),
  text(11, 'Image Source Sensor'),
  text(12, 'Image Coordinate System'),
  signed(13, 'Sensor Latitude', 'deg', 4, 90),
  signed(14, 'Sensor Longitude', 'deg', 4, 180),
  mapped(15, 'Sensor True Altitude', 'm', 2, -900, 19000),
  mapped(16, 'Sensor Horizontal Field of View', 'deg', 2, 0, 180),
  mapped(17, 'Sensor Vertical Field of View', 'deg', 2, 0, 180),
  mapped(18, 'Sensor Relative Azimuth Angle', 'deg', 4, 0, 360),
  signed(19, 'Sensor Relative Elevation Angle', 'deg', 4, 180),
  mapped(20, 'Sensor Relative Roll Angle', 'deg', 4, 0, 360),
  mapped(21, 'Slant Range', 'm', 4, 0, 5_000_000),
  mapped(22, 'Target Width', 'm', 2, 0, 10_000),
  signed(23, 'Frame Center Latitude', 'deg', 4, 90),
  signed(24, 'Frame Center Longitude', 'deg', 4, 180),
  mapped(25, 'Frame Center Elevation', 'm', 2, -900, 19000),
  signed(26, 'Offset Corner Latitude Point 1', 'deg', 2, 0.075),
  signed(27, 'Offset Corner Longitude Point 1', 'deg', 2, 0.075),
  signed(28, 'Offset Corner Latitude Point 2', 'deg', 2, 0.075),
  signed(29, 'Offset Corner Longitude Point 2', 'deg', 2, 0.075),
  signed(30, 'Offset Corner Latitude Point 3', 'deg', 2, 0.075),
  signed(31, 'Offset Corner Longitude Point 3', 'deg', 2, 0.075),
  signed(32, 'Offset Corner Latitude Point 4', 'deg', 2, 0.075),
  signed(33, 'Offset Corner Longitude Point 4', 'deg', 2, 0.075),
  uint(34, 'Icing Detected', '', 1),
  mapped(35, 'Wind Direction', 'deg', 2, 0, 360),
  mapped(36, 'Wind Speed', 'm/s', 1, 0, 100),
  mapped(37, 'Static Pressure', 'mbar', 2, 0, 5000),
  mapped(38, 'Density Altitude', 'm', 2, -900, 19000),
  int(39, 'Outside Air Temperature', 'degC', 1),
  signed(40, 'Target Location Latitude', 'deg', 4, 90),
  signed(41, 'Target Location Longitude', 'deg', 4, 180),
  mapped(42, 'Target Location Elevation', 'm', 2, -900, 19000),
  steps(43, 'Target Track Gate Width', 'pixels', 2),
  steps(44, 'Target Track Gate Height', 'pixels', 2),
  mapped(45, 'Target Error Estimate - CE90', 'm', 2, 0, 4095),
  mapped(46, 'Target Error Estimate - LE90', 'm', 2, 0, 4095),
  uint(47, 'Generic Flag Data', '', 1),
  set(48, 'Security Local Set'), // ST 0102
  mapped(49, 'Differential Pressure', 'mbar', 2, 0, 5000),
  signed(50, 'Platform Angle of Attack', 'deg', 2, 20),
  signed(51, 'Platform Vertical Speed', 'm/s', 2, 180),
  signed(52, 'Platform Sideslip Angle', 'deg', 2, 20),
  mapped(53, 'Airfield Barometric Pressure', 'mbar', 2, 0, 5000),
  mapped(54, 'Airfield Elevation', 'm', 2, -900, 19000),
  mapped(55, 'Relative Humidity', '%', 1, 0, 100),
  uint(56, 'Platform Ground Speed', 'm/s', 1),
  mapped(57, 'Ground Range', 'm', 4, 0, 5_000_000),
  mapped(58, 'Platform Fuel Remaining', 'kg', 2, 0, 10_000),
  text(59, 'Platform Call Sign'),
  uint(60, 'Weapon Load', '', 2),
  uint(61, 'Weapon Fired', '', 1),
  uint(62, 'Laser PRF Code', '', 2),
  uint(63, 'Sensor Field of View Name', '', 1),
  mapped(64, 'Platform Magnetic Heading', 'deg', 2, 0, 360),
  uint(65, 'UAS Datalink LS Version Number', '', 1),
  pack(66, 'Target Location Covariance Matrix'), // deprecated by the standard, which never defined its format
  signed(67, 'Alternate Platform Latitude', 'deg', 4, 90),
  signed(68, 'Alternate Platform Longitude', 'deg', 4, 180),
  mapped(69, 'Alternate Platform Altitude', 'm', 2, -900, 19000),
  text(70, 'Alternate Platform Name'),
  mapped(71, 'Alternate Platform Heading', 'deg', 2, 0, 360),
  time(72, 'Event Start Time - UTC'),
  set(73, 'RVT Local Set'), // ST 0806
  set(74, 'VMTI Local Set'), // ST 0903
  mapped(75, 'Sensor Ellipsoid Height', 'm', 2, -900, 19000),
  mapped(76, 'Alternate Platform Ellipsoid Height', 'm', 2, -900, 19000),
  uint(77, 'Operational Mode', '', 1),
  mapped(78, 'Frame Center Height Above Ellipsoid', 'm', 2, -900, 19000),
  signed(79, 'Sensor North Velocity', 'm/s', 2, 327),
  signed(80, 'Sensor East Velocity', 'm/s', 2, 327),
  pack(81, 'Image Horizon Pixel Pack'),
  signed(82, 'Corner Latitude Point 1 (Full)', 'deg', 4, 90),
  signed(83, 'Corner Longitude Point 1 (Full)', 'deg', 4, 180),
  signed(84, 'Corner Latitude Point 2 (Full)', 'deg', 4, 90),
  signed(85, 'Corner Longitude Point 2 (Full)', 'deg', 4, 180),
  signed(86, 'Corner Latitude Point 3 (Full)', 'deg', 4, 90),
  signed(87, 'Corner Longitude Point 3 (Full)', 'deg', 4, 180),
  signed(88, 'Corner Latitude Point 4 (Full)', 'deg', 4, 90),
  signed(89, 'Corner Longitude Point 4 (Full)', 'deg', 4, 180),
  signed(90, 'Platform Pitch Angle (Full)', 'deg', 4, 90),
  signed(91, 'Platform Roll Angle (Full)', 'deg', 4, 90),
  signed(92, 'Platform Angle of Attack (Full)', 'deg', 4, 90),
  signed(93, 'Platform Sideslip Angle (Full)', 'deg', 4, 180),
  pack(94, 'MIIS Core Identifier'), // ST 1204
  set(95, 'SAR Motion Imagery Local Set'), // ST 1206
  imapb(96, 'Target Width Extended', 'm', 0, 1_500_000, 3, 8),
  set(97, 'Range Image Local Set'), // ST 1002
  set(98, 'Geo-Registration Local Set'), // ST 1601
  set(99, 'Composite Imaging Local Set'), // ST 1602
  set(100, 'Segment Local Set'), // ST 1607
  set(101, 'Amend Local Set'), // ST 1607
  pack(102, 'SDCC-FLP'), // ST 1010
  imapb(103, 'Density Altitude Extended', 'm', -900, 40_000, 3, 8),
  imapb(104, 'Sensor Ellipsoid Height Extended', 'm', -900, 40_000, 3, 8),
  imapb(105, 'Alternate Platform Ellipsoid Height Extended', 'm', -900, 40_000, 3, 8),
  text(106, 'Stream Designator'),
  text(107, 'Operational Base'),
  text(108, 'Broadcast Source'),
  imapb(109, 'Range To Recovery Location', 'km', 0, 21_000, 3, 4),
  upTo(4, uint(110, 'Time Airborne', 's', 4)),
  upTo(4, uint(111, 'Propulsion Unit Speed', 'rpm', 4)),
  imapb(112, 'Platform Course Angle', 'deg', 0, 360, 2, 8),
  imapb(113, 'Altitude AGL', 'm', -900, 40_000, 3, 8),
  imapb(114, 'Radar Altimeter', 'm', -900, 40_000, 3, 8),
  pack(115, 'Control Command'),
  pack(116, 'Control Command Verification List'),
  imapb(117, 'Sensor Azimuth Rate', 'deg/s', -1000, 1000, 3, 4),
  imapb(118, 'Sensor Elevation Rate', 'deg/s', -1000, 1000, 3, 4),
  imapb(119, 'Sensor Roll Rate', 'deg/s', -1000, 1000, 3, 4),
  imapb(120, 'On-board MI Storage Percent Full', '%', 0, 100, 2, 3),
  pack(121, 'Active Wavelength List'),
  pack(122, 'Country Codes'),
  uint(123, 'Number of NAVSATs in View', '', 1),
  uint(124, 'Positioning Method Source', '', 1),
  uint(125, 'Platform Status', '', 1),
  uint(126, 'Sensor Control Mode', '', 1),
  upTo(8, row(127, 'Sensor Frame Rate Pack', 'Hz', 'ratio', 0, 2 ** 28, 0)),
  pack(128, 'Wavelengths List'),
  text(129, 'Target ID'),
  pack(130, 'Airbase Locations'),
  upTo(8, time(131, 'Take-off Time')),
  imapb(132, 'Transmission Frequency', 'MHz', 1, 99_999, 3, 4),
  upTo(4, uint(133, 'On-board MI Storage Capacity', 'GB', 4)),
  imapb(134, 'Zoom Percentage', '%', 0, 100, 2, 4),
  text(135, 'Communications Method'),
  upTo(4, int(136, 'Leap Seconds', 's', 4)),
  upTo(8, int(137, 'Correction Offset', 'us', 8)),
  pack(138, 'Payload List'),
  pack(139, 'Active Payloads'),
  pack(140, 'Weapons Stores'),
  pack(141, 'Waypoint List'),
  pack(142, 'View Domain'),
  pack(143, 'Metadata Substream ID Pack'),
]

const BY_TAG: readonly (Tag | undefined)[] = TAGS.reduce<(Tag | undefined)[]>(
  (table, tag) => {
    table[tag.tag] = tag
    return table
  },
  new Array<Tag | undefined>(TAGS.length + 1).fill(undefined),
)

/** The definition of a tag, undefined when it is not in the standard. */
export const findTag = (tag: number): Tag | undefined => BY_TAG[tag]
