import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../api/api.ts'
import { now, serviceClock } from '../api/now.ts'
import { connected } from '../api/pipelines.ts'
import { authEnabled } from '../api/session.ts'
import type { Health, Version } from '../api/types.ts'
import { durationText } from '../words/format.ts'

const SANDBOX = {
  on: 'On: GStreamer processes are confined',
  off: 'Off, as configured',
  unavailable: 'Not available: advanced pipelines are refused. Install bubblewrap',
} as const

const DATABASE = {
  ok: 'Works',
  read_only: 'Nothing can be changed. Look whether its disk is full',
  unavailable: 'Not available',
} as const

interface Facts {
  readonly health: Health
  readonly version: Version
  /** When the service was started, by its own clock. */
  readonly startedAt: number
}

/** Versions and health, asked for again when the service was away, and when the password is set or removed. */
export const ServicePanel = () => {
  const facts = useSignal<Facts | undefined>(undefined)
  const isAway = connected.value === false
  useEffect(() => {
    if (isAway) return
    const load = async (): Promise<void> => {
      const [health, version] = await Promise.all([api.getHealth(), api.getVersion()])
      facts.value = { health, version, startedAt: serviceClock.now() - health.uptime_seconds * 1000 }
    }
    // The bar says when the service is away.
    load().catch(() => {})
  }, [isAway, authEnabled.value])
  if (facts.value === undefined) return <section class="panel panel-waiting" aria-busy="true" />
  const { health, version, startedAt } = facts.value
  return (
    <section class="panel" aria-labelledby="service-title">
      <h2 id="service-title">Service</h2>
      {health.warnings?.includes('open_api') === true && (
        <p class="banner banner-bad">Other computers reach this service, and no password is set. Set one below.</p>
      )}
      <dl class="facts">
        <Fact name="Version">{version.version}</Fact>
        <Fact name="Engine">{version.engine.version === null ? 'Not available' : `GStreamer ${version.engine.version}`}</Fact>
        <Fact name="Running for">{durationText(now.value - startedAt)}</Fact>
        <Fact name="Database">{DATABASE[health.database]}</Fact>
        {health.sandbox !== undefined && <Fact name="Sandbox">{SANDBOX[health.sandbox]}</Fact>}
        {health.license !== undefined && <Fact name="License">{health.license}</Fact>}
      </dl>
    </section>
  )
}

const Fact = ({ name, children }: { readonly name: string; readonly children: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
