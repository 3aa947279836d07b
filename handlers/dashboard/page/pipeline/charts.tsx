import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { historyOf, round, type Sample } from '../api/history.ts'
import { whenIdle } from '../ui/idle.ts'
import type { ChartHandle } from './chart.ts'

const CHARTS = [
  { title: 'Frame rate', unit: 'fps', value: ({ fps }: Sample) => fps },
  { title: 'Bitrate', unit: 'kbit/s', value: ({ bitrate }: Sample) => bitrate },
  { title: 'Readers', unit: '', value: ({ readers }: Sample) => readers },
  { title: 'Age of the newest frame', unit: 'ms', value: ({ age }: Sample) => age },
] as const

/** What was measured in the last ten minutes, since the page was opened. */
export const Charts = ({ id }: { readonly id: string }) => (
  <section class="panel" aria-labelledby="charts-title">
    <h2 id="charts-title">Last 10 minutes</h2>
    <div class="charts">
      {CHARTS.map((chart) => (
        <Chart key={`${id} ${chart.title}`} id={id} {...chart} />
      ))}
    </div>
  </section>
)

const Chart = ({ id, title, unit, value }: { readonly id: string } & (typeof CHARTS)[number]) => {
  const place = useRef<HTMLDivElement>(null)
  const chart = useSignal<ChartHandle | undefined>(undefined)
  useEffect(() => {
    let gone = false
    void whenIdle()
      .then(() => import('./chart.ts'))
      .then(({ createChart }) => {
        if (!gone && place.current !== null) chart.value = createChart(place.current, unit)
      })
    return () => {
      gone = true
      chart.peek()?.close()
    }
  }, [])
  useSignalEffect(() => {
    round.value
    const samples = historyOf(id)
    chart.value?.show(
      samples.map(({ at }) => at),
      samples.map(value),
    )
  })
  round.value
  const last = historyOf(id).at(-1)
  const latest = last === undefined ? null : value(last)
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <span class="chart-value">{latest === null ? '–' : `${Math.round(latest * 10) / 10} ${unit}`}</span>
      </figcaption>
      <div ref={place} class="chart-place" aria-hidden="true" />
    </figure>
  )
}
