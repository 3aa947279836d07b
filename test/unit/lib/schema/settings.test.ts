import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { DEFAULT_SETTINGS, settingsPatchSchema, settingsSchema } from '../../../../lib/schema/settings.ts'

describe('the settings schemas', () => {
  it('the defaults are within their own bounds', () => expect(v.parse(settingsSchema, DEFAULT_SETTINGS)).toEqual(DEFAULT_SETTINGS))

  it('a change may name any field of the record alone', () => {
    for (const [name, value] of Object.entries(DEFAULT_SETTINGS)) {
      expect(v.parse(settingsPatchSchema, { [name]: value })).toEqual({ [name]: value })
      if (typeof value !== 'object' || Array.isArray(value)) continue
      for (const [inner, part] of Object.entries(value))
        expect(v.parse(settingsPatchSchema, { [name]: { [inner]: part } })).toEqual({ [name]: { [inner]: part } })
    }
  })

  it('the whole record needs every field', () => {
    for (const name of Object.keys(DEFAULT_SETTINGS)) {
      const { [name as keyof typeof DEFAULT_SETTINGS]: _, ...rest } = DEFAULT_SETTINGS
      expect(v.safeParse(settingsSchema, rest).success).toBe(false)
    }
  })
})
