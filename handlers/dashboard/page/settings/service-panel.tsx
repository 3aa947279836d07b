import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../api/api.ts'
import { now, serviceClock } from '../api/now.ts'
import { connected } from '../api/pipelines.ts'
import { authEnabled } from '../api/session.ts'
import type { Health, Version } from '../api/types.ts'
import { Fact } from '../ui/fact.tsx'
import { durationText } from '../words/format.ts'

const SANDBOX = {
  on: 'On: GStreamer processes are confined',
  off: 'Off, as configured',
  unavailable: 'Not available: advanced pipelines are refused. Install bubblewrap',
} as const

const DATABASE = {
  ok: 'Works',
  busy: 'Another program holds it: changes wait',
  read_only: 'Read-only: nothing can be changed. Check whether its disk is full',
  unavailable: 'Not available',
} as const

interface Facts {
  readonly health: Health
  readonly version: Version
  /** When the service was started, by its own clock. */
  readonly startedAt: number
}

/** Versions and health, reloaded after a lost connection and after a change of the password. */
export const ServicePanel = () => {
  const facts = useSignal<Facts | undefined>(undefined)
  const isAway = connected.value === false
  useEffect(() => {
    if (isAway) return
    const load = async (): Promise<void> => {
      const [health, version] = await Promise.all([api.getHealth(), api.getVersion()])
      facts.value = { health, version, startedAt: serviceClock.now() - health.uptime_seconds * 1000 }
    }
    // The bar shows a lost connection.
    load().catch(() => {})
  }, [isAway, authEnabled.value])
  if (facts.value === undefined) return <section class="panel panel-waiting" aria-busy="true" />
  const { health, version, startedAt } = facts.value
  return (
    <section class="panel" aria-labelledby="service-title">
      <h2 id="service-title">Service</h2>
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
