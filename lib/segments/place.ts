/** Degrees. */
export interface Place {
  readonly latitude: number
  readonly longitude: number
}

const degrees = (text: string | undefined, most: number): number | undefined => {
  const value = text === undefined || text.trim() === '' || text.length > 24 ? Number.NaN : Number(text)
  return Number.isFinite(value) && Math.abs(value) <= most ? value : undefined
}

/** Latitude and longitude of `48.137,11.575`; undefined for anything else. */
export const readPlace = (text: string): Place | undefined => {
  const [first, second, ...more] = text.split(',')
  const [latitude, longitude] = [degrees(first, 90), degrees(second, 180)]
  return latitude === undefined || longitude === undefined || more.length > 0 ? undefined : { latitude, longitude }
}

/** `48.13700,11.57500`: to a meter. */
export const placeText = ({ latitude, longitude }: Place): string => `${latitude.toFixed(5)},${longitude.toFixed(5)}`
