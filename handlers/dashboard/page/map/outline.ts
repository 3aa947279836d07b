// Natural Earth 1:110m (public domain), made from countries-110m.json of the npm package world-atlas 2.0.2.
import coasts from './coasts.json' with { type: 'json' }

/** A point in degrees, latitude first. */
type Point = [latitude: number, longitude: number]

const TENTHS = 10

/** Each line of the file: longitude and latitude in tenths of a degree, each point as its distance from the one before. */
export const decodeLine = (line: string): Point[] => {
  const numbers = line.split(' ').map(Number)
  let [x, y] = [0, 0]
  return Array.from({ length: numbers.length / 2 }, (_, at): Point => {
    x += numbers[at * 2] ?? 0
    y += numbers[at * 2 + 1] ?? 0
    return [y / TENTHS, x / TENTHS]
  })
}

/** The coasts and borders of the world, for a map without a network; also of its copies on both sides. */
export const worldOutline = (): Point[][] => {
  const lines = coasts.map(decodeLine)
  return [-360, 0, 360].flatMap((turn) => lines.map((line) => line.map(([latitude, longitude]): Point => [latitude, longitude + turn])))
}
