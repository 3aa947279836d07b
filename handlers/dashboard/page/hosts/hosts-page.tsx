import { signal } from '@preact/signals'
import { Banner } from '../ui/banner.tsx'
import { Icon } from '../ui/icon.tsx'
import { Page } from '../ui/page.tsx'
import { useAbortable } from '../ui/use-abortable.ts'
import { countText } from '../words/format.ts'
import { type Fleet, fleet, fleetFault, followFleet, type Host } from './fleet.ts'
import { HostCard } from './host-card.tsx'
import { GROUPS, type Group, labelTexts } from './host-words.ts'
import { refusedPictures } from './remote-picture.tsx'

const group = signal<Group>('all')
const search = signal('')

/** The hosts of the fleet. */
export const HostsPage = () => {
  useAbortable(followFleet, [])
  return (
    <Page title="Hosts" isBusy={fleet.value === undefined && fleetFault.value === undefined}>
      <FleetFault />
      {fleet.value === undefined && fleetFault.value === undefined && <p class="muted loading">Asking the fleet…</p>}
      {fleet.value !== undefined && <Hosts hosts={fleet.value.hosts} />}
    </Page>
  )
}

/** Why hosts, or their pictures, are not shown. */
export const FleetFault = () => (
  <>
    {fleetFault.value !== undefined && (
      <Banner>
        <p>{fleetFault.value.text}</p>
      </Banner>
    )}
    {refusedPictures.value !== undefined && <p class="muted note">No pictures and pipelines: {refusedPictures.value}</p>}
  </>
)

const matches = (host: Host, text: string): boolean => [host.host, ...labelTexts(host)].some((one) => one.toLowerCase().includes(text))

const Hosts = ({ hosts }: Pick<Fleet, 'hosts'>) => {
  const text = search.value.trim().toLowerCase()
  const shown = hosts.filter((host) => GROUPS[group.value].has(host) && (text === '' || matches(host, text)))
  return (
    <>
      <Filters hosts={hosts} />
      <p class="sr-only" role="status">
        {countText(shown.length, 'host')} shown
      </p>
      {shown.length === 0 ? (
        <div class="empty">
          <p>No host matches.</p>
        </div>
      ) : (
        <ul class="cards">
          {shown.map((host) => (
            <HostCard key={host.host} host={host} />
          ))}
        </ul>
      )}
    </>
  )
}

const Filters = ({ hosts }: Pick<Fleet, 'hosts'>) => (
  <div class="filters">
    <label class="search">
      <span class="sr-only">Search by name or label</span>
      <Icon name="search" />
      <input
        type="search"
        placeholder="Search by name or label"
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
            name="host-group"
            checked={group.value === name}
            onChange={() => {
              group.value = name
            }}
          />
          {GROUPS[name].word}
          <span class="chip-count">{hosts.filter(GROUPS[name].has).length}</span>
        </label>
      ))}
    </fieldset>
  </div>
)
