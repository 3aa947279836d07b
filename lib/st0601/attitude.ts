/** Forward, right and down along the axes of an aircraft or a camera; north, east and down over the ground. */
export type Vector = readonly [number, number, number]

/** Angles in degrees: yaw clockwise seen from above, pitch upwards, roll clockwise seen from behind. */
export interface Attitude {
  readonly yaw: number
  readonly pitch: number
  readonly roll: number
}

const RADIANS = Math.PI / 180

/**
 * A vector given along the axes of what is turned, along the axes that it was turned from. Turned by yaw, then pitch, then roll,
 * each about its own new axis: platform (ST 0601 sections 8.5 to 8.7) and sensor (sections 8.18 to 8.20) alike.
 */
export const turned = (vector: Vector, { yaw, pitch, roll }: Attitude): Vector =>
  aboutDown(aboutRight(aboutForward(vector, roll * RADIANS), pitch * RADIANS), yaw * RADIANS)

/** A vector given along the axes that something was turned from, along its own: undoes `turned`. */
export const turnedBack = (vector: Vector, { yaw, pitch, roll }: Attitude): Vector =>
  aboutForward(aboutRight(aboutDown(vector, -yaw * RADIANS), -pitch * RADIANS), -roll * RADIANS)

const aboutForward = ([x, y, z]: Vector, angle: number): Vector => {
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)]
  return [x, cos * y - sin * z, sin * y + cos * z]
}

const aboutRight = ([x, y, z]: Vector, angle: number): Vector => {
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)]
  return [cos * x + sin * z, y, cos * z - sin * x]
}

const aboutDown = ([x, y, z]: Vector, angle: number): Vector => {
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)]
  return [cos * x - sin * y, sin * x + cos * y, z]
}
