/** Where a segment lies below the folder of its pipeline. */
interface SegmentPlace {
  /** `YYYY-MM-DD` */
  readonly day: string
  /** `YYYYMMDDTHHMMSS.mmmZ.ts` */
  readonly name: string
}

const NAME_CHARACTERS = 'YYYYMMDDTHHMMSS.mmmZ.ts'.length

/** The place of a segment whose first frame arrived at a time, milliseconds since the epoch, of a year of four digits. */
export const segmentPlace = (startedAt: number): SegmentPlace => {
  const iso = new Date(startedAt).toISOString()
  const part = (from: number, to: number): string => iso.slice(from, to)
  return { day: part(0, 10), name: `${part(0, 4)}${part(5, 7)}${part(8, 13)}${part(14, 16)}${part(17, 24)}.ts` }
}

/** When the first frame of a segment with this name arrived; undefined for a name that no segment has. */
export const segmentTime = (name: string): number | undefined => {
  if (name.length !== NAME_CHARACTERS) return undefined
  const part = (from: number, to: number): string => name.slice(from, to)
  const time = Date.parse(`${part(0, 4)}-${part(4, 6)}-${part(6, 8)}T${part(9, 11)}:${part(11, 13)}:${part(13, 15)}.${part(16, 19)}Z`)
  return Number.isNaN(time) || segmentPlace(time).name !== name ? undefined : time
}

/** Whether a folder has the name of a day. */
export const isDay = (name: string): boolean => {
  const time = name.length === 10 ? Date.parse(`${name}T00:00:00.000Z`) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === name
}
