import { describe, expect, it } from 'vitest'
import { createLicenseSender } from '../../../../lib/license/send-to-engine.ts'
import type { LicenseState } from '../../../../lib/schema/license.ts'

const VALID = '{"licensee":"x","codecs":["h264"]}'

const sender = () => {
  const file = { text: VALID }
  const sent: LicenseState[] = []
  const logged: unknown[] = []
  const add = (level: string) => (event: string, fields?: object) => void logged.push({ level, event, ...fields })
  const log = { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') }
  const source = { read: async () => file.text }
  const license = createLicenseSender({ source, clock: { now: () => Date.parse('2026-11-20') }, log })
  const engine = { license: { set: async (state: LicenseState) => void sent.push(state) } }
  return { file, sent, logged, license, engine }
}

describe('the license of a running service', () => {
  it('is sent and logged when it changes, with the reason when no pipeline starts any more', async () => {
    const { file, sent, logged, license, engine } = sender()
    await license.send(engine)
    expect(await license.refresh()).toBe(false)
    expect(logged).toEqual([])
    file.text = '{"licensee":"x","codecs":["vp9"]}'
    expect(await license.refresh()).toBe(true)
    file.text = '{"licensee":"x","codecs":[],"expires":"2026-11-19"}'
    expect(await license.refresh()).toBe(true)
    file.text = VALID
    expect(await license.refresh()).toBe(true)
    expect(await license.refresh()).toBe(false)
    expect(sent.map(({ status }) => status)).toEqual(['valid', 'unreadable', 'expired', 'valid'])
    expect(logged).toMatchObject([
      { level: 'warn', event: 'license_unreadable', reason: 'The license is not valid at codecs.0. Use one of: h264, h265.' },
      { level: 'warn', event: 'license_expired', reason: 'It expired on 2026-11-19.' },
      { level: 'info', event: 'license_changed', status: 'valid' },
    ])
  })
})
