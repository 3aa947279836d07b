import UPlot from 'uplot'
import { clockText } from '../words/format.ts'

export interface ChartHandle {
  /** Seconds since the epoch and values, of the same length. */
  readonly show: (times: readonly number[], values: readonly (number | null)[]) => void
  readonly close: () => void
}

const HEIGHT = 110
/** What is shown at least and at most. */
const SPAN_SECONDS = { least: 600, most: 3600 }

const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name)

/** A color of the page, resolved, since a canvas knows no custom properties. */
const resolved = (place: HTMLElement, name: string): string => {
  const probe = document.createElement('span')
  probe.style.color = color(name)
  place.append(probe)
  const { color: value } = getComputedStyle(probe)
  probe.remove()
  return value
}

/** A chart of the last hour that follows the width of its element. */
export const createChart = (place: HTMLElement, title: string, isWhole: boolean): ChartHandle => {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  let plot = draw(place, title, isWhole)
  const redraw = (): void => {
    const { data } = plot
    plot.destroy()
    plot = draw(place, title, isWhole)
    plot.setData(data)
  }
  dark.addEventListener('change', redraw)
  const observer = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }))
  observer.observe(place)
  return {
    show: (times, values) => {
      const end = times.at(-1) ?? 0
      plot.setData([[...times], [...values]], false)
      const { least, most } = SPAN_SECONDS
      plot.setScale('x', { min: end - Math.min(most, Math.max(least, end - (times[0] ?? end))), max: end })
    },
    close: () => {
      dark.removeEventListener('change', redraw)
      observer.disconnect()
      plot.destroy()
    },
  }
}

/** Steps of an axis of whole numbers. */
const WHOLE = [1, 2, 5].flatMap((step) => [1, 10, 100, 1000].map((power) => step * power)).sort((a, b) => a - b)

const draw = (place: HTMLElement, title: string, isWhole: boolean): UPlot => {
  const [line, text, accent] = ['--line', '--muted', '--accent'].map((name) => resolved(place, name))
  const axis = { stroke: text ?? '', font: '11px system-ui', ticks: { show: false }, grid: { stroke: line ?? '', width: 1 } }
  return new UPlot(
    {
      width: place.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      // On the right, room for half of the last time label.
      padding: [6, 28, 0, 0],
      scales: { x: { time: true }, y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.15)] } },
      axes: [
        { ...axis, grid: { show: false }, size: 22, space: 80, values: (_plot, times) => times.map(clockText) },
        // Without thousands separators, like all numbers of the page.
        { ...axis, size: 44, space: 28, values: (_plot, ticks) => ticks.map(String), ...(isWhole && { incrs: WHOLE }) },
      ],
      series: [{}, { label: title, stroke: accent ?? '', width: 1.5, points: { show: false } }],
    },
    [[], []],
    place,
  )
}
