import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { lastHourOf, loadHistory, round, type Sample } from '../api/history.ts'
import { loadPart } from '../api/upgrade.ts'
import { useAbortable } from '../ui/use-abortable.ts'
import { bitrateText, fpsText } from '../words/format.ts'
import type { ChartHandle } from './chart.ts'
import { whenIdle } from './idle.ts'
import { pointsOf } from './points.ts'

interface ChartProps {
  readonly title: string
  readonly value: (sample: Sample) => number | null
  readonly text: (value: number) => string
  /** Whole numbers only. */
  readonly isWhole?: boolean
}

const CHARTS: readonly ChartProps[] = [
  { title: 'Frame rate', value: ({ fps }) => fps, text: fpsText },
  { title: 'Bitrate (kbit/s)', value: ({ bitrate }) => bitrate, text: bitrateText },
  { title: 'Readers', value: ({ readers }) => readers, text: String, isWhole: true },
  { title: 'Age of the newest frame (ms)', value: ({ age }) => age, text: (ms) => `${Math.round(ms)} ms` },
]

/** Samples of the last hour. */
export const Charts = ({ id }: { readonly id: string }) => {
  useAbortable((signal) => void loadHistory(id, signal), [id])
  return (
    <section class="panel" aria-labelledby="charts-title">
      <h2 id="charts-title">Last hour</h2>
      <div class="charts">
        {CHARTS.map((chart) => (
          <Chart key={`${id} ${chart.title}`} id={id} {...chart} />
        ))}
      </div>
    </section>
  )
}

const Chart = ({ id, title, value, text, isWhole = false }: { readonly id: string } & ChartProps) => {
  const place = useRef<HTMLDivElement>(null)
  const chart = useSignal<ChartHandle | undefined>(undefined)
  useEffect(() => {
    let gone = false
    void whenIdle()
      .then(() => loadPart(import('./chart.ts')))
      .then((part) => {
        if (part !== undefined && !gone && place.current !== null) chart.value = part.createChart(place.current, title, isWhole)
      })
    return () => {
      gone = true
      chart.peek()?.close()
    }
  }, [])
  useSignalEffect(() => {
    round.value
    const points = pointsOf(lastHourOf(id), value)
    chart.value?.show(
      points.map(([at]) => at),
      points.map(([, measured]) => measured),
    )
  })
  round.value
  const last = lastHourOf(id).at(-1)
  const latest = last === undefined ? null : value(last)
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <span class="chart-value">{latest === null ? '–' : text(latest)}</span>
      </figcaption>
      <div ref={place} class="chart-place" aria-hidden="true" />
    </figure>
  )
}
