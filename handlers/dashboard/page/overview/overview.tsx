import { computed, signal } from '@preact/signals'
import { loaded, pipelines } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { Cards } from '../cards/cards.tsx'
import { Filters } from '../cards/filters.tsx'
import { Page } from '../ui/page.tsx'
import { Waiting } from '../ui/waiting.tsx'
import { sourceText } from '../words/format.ts'
import { GROUPS, type Group } from '../words/phases.ts'
import { Card } from './card.tsx'
import { FirstSteps, NewPipeline } from './first-steps.tsx'

const group = signal<Group>('all')
const search = signal('')

const sorted = computed(() => [...pipelines.value.entries()].sort(([a], [b]) => a.localeCompare(b, undefined, { numeric: true })))

const groups = computed(() => {
  const phases = sorted.value.map(([, pipeline]) => pipeline.value.runtime.phase)
  const counted = Object.entries(GROUPS).map(([name, { word, has }]) => [name, { word, count: phases.filter(has).length }])
  return Object.fromEntries(counted) as Record<Group, { word: string; count: number }>
})

const matches = (pipeline: Pipeline, text: string): boolean =>
  pipeline.id.toLowerCase().includes(text) || sourceText(pipeline).toLowerCase().includes(text)

/** Ids as one string, which stays equal while only numbers of the pipelines change. */
const shownIds = computed(() => {
  const text = search.value.trim().toLowerCase()
  return sorted.value
    .filter(([, { value }]) => GROUPS[group.value].has(value.runtime.phase) && (text === '' || matches(value, text)))
    .map(([id]) => id)
    .join(' ')
})

/** Every pipeline as a card. */
export const Overview = () => {
  if (!loaded.value) return <Loading />
  if (pipelines.value.size === 0) return <FirstSteps />
  const ids = shownIds.value === '' ? [] : shownIds.value.split(' ')
  return (
    <Page title="Pipelines" action={<NewPipeline />}>
      <Filters searched="name or source" search={search} groups={groups.value} group={group} />
      <Cards noun="pipeline" showAll={showAll}>
        {ids.map((id) => (
          <Slot key={id} id={id} />
        ))}
      </Cards>
    </Page>
  )
}

const Slot = ({ id }: { readonly id: string }) => {
  const pipeline = pipelines.value.get(id)
  return pipeline === undefined ? null : <Card pipeline={pipeline} />
}

const showAll = (): void => {
  group.value = 'all'
  search.value = ''
}

/** Shown until the first answer. */
const Loading = () => (
  <Page title="Pipelines" isBusy>
    <Waiting />
  </Page>
)
