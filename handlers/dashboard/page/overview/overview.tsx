import { computed, signal } from '@preact/signals'
import { loaded, pipelines } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { Icon } from '../ui/icon.tsx'
import { Page } from '../ui/page.tsx'
import { Waiting } from '../ui/waiting.tsx'
import { countText, sourceText } from '../words/format.ts'
import { GROUPS, type Group } from '../words/phases.ts'
import { Card } from './card.tsx'
import { FirstSteps, NewPipeline } from './first-steps.tsx'

const group = signal<Group>('all')
const search = signal('')

const sorted = computed(() => [...pipelines.value.entries()].sort(([a], [b]) => a.localeCompare(b, undefined, { numeric: true })))

const counts = computed(() => {
  const phases = sorted.value.map(([, pipeline]) => pipeline.value.runtime.phase)
  return Object.fromEntries(Object.entries(GROUPS).map(([name, { has }]) => [name, phases.filter(has).length])) as Record<Group, number>
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
      <Filters />
      <p class="sr-only" role="status">
        {countText(ids.length, 'pipeline')} shown
      </p>
      {ids.length === 0 ? (
        <div class="empty">
          <p>No pipeline matches.</p>
          <button type="button" class="button button-plain" onClick={showAll}>
            Show all
          </button>
        </div>
      ) : (
        <ul class="cards">
          {ids.map((id) => (
            <Slot key={id} id={id} />
          ))}
        </ul>
      )}
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

const Filters = () => (
  <div class="filters">
    <label class="search">
      <span class="sr-only">Search by name or source</span>
      <Icon name="search" />
      <input
        type="search"
        placeholder="Search by name or source"
        value={search.value}
        onInput={({ currentTarget }) => {
          search.value = currentTarget.value
        }}
      />
    </label>
    <fieldset class="chips">
      <legend class="sr-only">State</legend>
      {(Object.keys(GROUPS) as Group[]).map((name) => (
        <label key={name} class="chip">
          <input
            type="radio"
            name="group"
            checked={group.value === name}
            onChange={() => {
              group.value = name
            }}
          />
          {GROUPS[name].word}
          <span class="chip-count">{counts.value[name]}</span>
        </label>
      ))}
    </fieldset>
  </div>
)

/** Shown until the first answer. */
const Loading = () => (
  <Page title="Pipelines" isBusy>
    <Waiting />
  </Page>
)
