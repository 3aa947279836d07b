import * as v from 'valibot'
import { expect, it } from 'vitest'
import { patchOf } from '../../../../../../handlers/dashboard/page/settings/settings-table.ts'
import { settingsPatchSchema } from '../../../../../../lib/schema/settings.ts'

it('the form of the settings sends changes only, in the types of the API', () => {
  const patch = patchOf(
    new Map<string, string | boolean>([
      ['start_timeout_seconds', '12'],
      ['reconnect.give_up_after_seconds', ''],
      ['reconnect.max_delay_seconds', '9'],
      ['on_demand.start_on_read', false],
      ['advanced.denied_elements', 'filesrc, fdsrc '],
      ['readers.username', '007'],
    ]),
  )
  expect(patch).toEqual({
    start_timeout_seconds: 12,
    reconnect: { give_up_after_seconds: null, max_delay_seconds: 9 },
    on_demand: { start_on_read: false },
    advanced: { denied_elements: ['filesrc', 'fdsrc'] },
    readers: { username: '007' },
  })
  expect(v.safeParse(settingsPatchSchema, patch).success).toBe(true)
})
