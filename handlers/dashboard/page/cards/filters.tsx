import type { Signal } from '@preact/signals'
import { Icon } from '../ui/icon.tsx'

interface FiltersProps<Group extends string> {
  /** What the search looks at, such as "name or source". */
  readonly searched: string
  readonly search: Signal<string>
  /** Names of the groups → their words, and how many cards are in them. */
  readonly groups: Readonly<Record<Group, { readonly word: string; readonly count: number }>>
  readonly group: Signal<Group>
}

/** Chooses the cards of a list by text and group. */
export const Filters = <Group extends string>({ searched, search, groups, group }: FiltersProps<Group>) => (
  <div class="filters">
    <label class="search">
      <span class="sr-only">Search by {searched}</span>
      <Icon name="search" />
      <input
        type="search"
        placeholder={`Search by ${searched}`}
        value={search.value}
        onInput={({ currentTarget }) => {
          search.value = currentTarget.value
        }}
      />
    </label>
    <fieldset class="chips">
      <legend class="sr-only">State</legend>
      {(Object.keys(groups) as Group[]).map((name) => (
        <label key={name} class="chip">
          <input
            type="radio"
            name="group"
            checked={group.value === name}
            onChange={() => {
              group.value = name
            }}
          />
          {groups[name].word}
          <span class="chip-count">{groups[name].count}</span>
        </label>
      ))}
    </fieldset>
  </div>
)
