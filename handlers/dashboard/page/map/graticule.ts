/** Degrees between two lines, ascending. */
const STEPS = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30] as const

/** The lines of latitude or longitude between two degrees: multiples of a round step, about `most` of them. */
export const lineDegrees = (low: number, high: number, most: number): { readonly step: number; readonly degrees: readonly number[] } => {
  const step = STEPS.find((candidate) => (high - low) / candidate <= most) ?? 30
  const first = Math.ceil(low / step)
  const count = Math.max(0, Math.floor(high / step) - first + 1)
  return { step, degrees: Array.from({ length: count }, (_, index) => (first + index) * step) }
}

/** `48.25° N`, with the digits of the step. */
export const degreeText = (degree: number, step: number, [positive, negative]: readonly [string, string]): string => {
  const digits = Math.max(0, Math.ceil(-Math.log10(step)))
  const text = Math.abs(degree).toFixed(digits)
  return Number(text) === 0 ? `${text}°` : `${text}° ${degree > 0 ? positive : negative}`
}
