import { signal } from '@preact/signals'
import { Cards } from '../cards/cards.tsx'
import { Filters } from '../cards/filters.tsx'
import { Banner } from '../ui/banner.tsx'
import { Page } from '../ui/page.tsx'
import { useAbortable } from '../ui/use-abortable.ts'
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
  const groups = Object.entries(GROUPS).map(([name, { word, has }]) => [name, { word, count: hosts.filter(has).length }])
  return (
    <>
      <Filters
        searched="name or label"
        search={search}
        groups={Object.fromEntries(groups) as Record<Group, { word: string; count: number }>}
        group={group}
      />
      <Cards noun="host" showAll={showAll}>
        {shown.map((host) => (
          <HostCard key={host.host} host={host} />
        ))}
      </Cards>
    </>
  )
}

const showAll = (): void => {
  group.value = 'all'
  search.value = ''
}
