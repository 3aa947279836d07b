import { Banner } from '../ui/banner.tsx'
import { Fact } from '../ui/fact.tsx'
import { Icon } from '../ui/icon.tsx'
import { Page } from '../ui/page.tsx'
import { useAbortable } from '../ui/use-abortable.ts'
import { durationText, timeText } from '../words/format.ts'
import { reportedProblems } from '../words/host-problems.ts'
import { type Fleet, fleet, fleetFault, followFleet, type Host } from './fleet.ts'
import { HostLabel } from './host-label.tsx'
import { documentText, driftText, labelTexts } from './host-words.ts'
import { FleetFault } from './hosts-page.tsx'
import { RemotePipelines } from './remote-pipelines.tsx'

/** One host of the fleet, and its pipelines. */
export const HostPage = ({ name }: { readonly name: string }) => {
  useAbortable(followFleet, [])
  const host = fleet.value?.hosts.find((one) => one.host === name)
  if (fleet.value === undefined || host === undefined) return <Unknown name={name} />
  return <Known fleet={fleet.value} host={host} />
}

const Unknown = ({ name }: { readonly name: string }) => (
  <Page title={name}>
    <FleetFault />
    {fleetFault.value === undefined && (
      <div class="empty">
        <p role="status">{fleet.value === undefined ? 'Asking the fleet…' : 'The fleet has no host of this name.'}</p>
        <a class="button button-plain" href="#/hosts">
          All hosts
        </a>
      </div>
    )}
  </Page>
)

const Known = ({ fleet: { control, host: own }, host }: { readonly fleet: Fleet; readonly host: Host }) => (
  <div class="page">
    <div class="head">
      <div class="head-title">
        <a class="button button-quiet back" href="#/hosts" aria-label="All hosts">
          <Icon name="back" />
        </a>
        <h1>{host.host}</h1>
        <HostLabel host={host} />
        {host.host === own && <span class="muted">this host</span>}
      </div>
    </div>
    <FleetFault />
    {host.error !== null && (
      <Banner>
        <p class="host-error">{host.error}</p>
      </Banner>
    )}
    <div class="host-parts">
      <Facts host={host} />
      <Drift drift={host.drift} />
    </div>
    <RemotePipelines host={host} control={control} />
  </div>
)

const Facts = ({ host }: { readonly host: Host }) => {
  const { health, at, version, linked } = host
  const problems = reportedProblems(health)
  return (
    <section class="panel" aria-labelledby="host-facts">
      <h2 id="host-facts">Host</h2>
      <dl class="facts">
        <Fact name="Labels">{labelTexts(host).join(', ') || 'None'}</Fact>
        <Fact name="Document">{documentText(host)}</Fact>
        <Fact name="Version">{version}</Fact>
        <Fact name={linked ? 'Reported' : 'Last report'}>{timeText(at)}</Fact>
        <Fact name="Up for">{durationText(health.uptime_seconds * 1000)}</Fact>
        <Fact name="Health">{problems.length === 0 && health.status === 'ok' ? 'Good' : problems.join(' ') || health.status}</Fact>
      </dl>
    </section>
  )
}

const Drift = ({ drift }: Pick<Host, 'drift'>) => (
  <section class="panel" aria-labelledby="host-drift">
    <h2 id="host-drift">Drift</h2>
    {drift.length === 0 ? (
      <p class="muted">Nothing differs from the document.</p>
    ) : (
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Pipeline</th>
            <th scope="col">What</th>
            <th scope="col">Fields</th>
          </tr>
        </thead>
        <tbody>
          {drift.map(({ id, kind, fields }) => (
            <tr key={`${id} ${kind}`}>
              <td>{id ?? 'Settings'}</td>
              <td>{driftText(kind)}</td>
              <td class="mono">{fields.join(', ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </section>
)
