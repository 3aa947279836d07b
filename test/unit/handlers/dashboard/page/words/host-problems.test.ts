import { expect, it } from 'vitest'
import type { Health } from '../../../../../../handlers/dashboard/page/api/types.ts'
import { hostProblems } from '../../../../../../handlers/dashboard/page/words/host-problems.ts'
import { HEALTH } from '../../../../../../lib/openapi/examples.ts'
import { HEALTH_WARNINGS, type HealthWarning } from '../../../../../../lib/schema/health.ts'

const WELL = HEALTH as Health
const WARNINGS = Object.keys(HEALTH_WARNINGS) as HealthWarning[]

it('has words for every warning of health', () => {
  const health: Health = { ...WELL, warnings: WARNINGS }
  const names = hostProblems(health, health).map(({ name }) => name)
  expect(names.toSorted()).toEqual(WARNINGS.toSorted())
})

it.each<[Partial<Health>, readonly string[], readonly string[]]>([
  [{}, [], []],
  [{ engine: 'unavailable' }, [], ['engine_unavailable']],
  [{ engine: 'unavailable', warnings: ['gstreamer_missing'] }, ['gstreamer_missing'], ['gstreamer_missing']],
  [{ database: 'busy' }, [], ['database_busy']],
  [{ database: 'unavailable' }, [], ['database_unavailable']],
  [{ database: 'read_only' }, ['database_read_only'], ['database_read_only']],
  [{ database: 'read_only', warnings: ['open_api', 'disk_full'] }, ['disk_full', 'open_api'], ['disk_full', 'open_api']],
  [{ license: 'expired' }, ['license_expired'], ['license_expired']],
])('shows of %j at first %j, and when it lasts %j', (change, atFirst, lasting) => {
  const names = (before: Health | undefined) => hostProblems({ ...WELL, ...change }, before).map(({ name }) => name)
  expect(names(undefined)).toEqual(atFirst)
  expect(names({ ...WELL, ...change })).toEqual(lasting)
})
