const WIDTH = 96
const HEIGHT = 22

/** The last values as a line from 0 to the largest one. */
export const Sparkline = ({ values, label }: { readonly values: readonly number[]; readonly label: string }) => {
  const top = Math.max(1, ...values)
  const step = WIDTH / Math.max(1, LENGTH - 1)
  const first = WIDTH - (values.length - 1) * step
  const points = values.map(
    (value, index) => `${(first + index * step).toFixed(1)} ${(HEIGHT - 2 - (value / top) * (HEIGHT - 4)).toFixed(1)}`,
  )
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {points.length > 1 && (
        <>
          <path class="sparkline-area" d={`M${first.toFixed(1)} ${HEIGHT}L${points.join('L')}L${WIDTH} ${HEIGHT}Z`} />
          <path class="sparkline-line" d={`M${points.join('L')}`} />
        </>
      )}
    </svg>
  )
}

/** Values shown: two minutes. */
export const LENGTH = 60
