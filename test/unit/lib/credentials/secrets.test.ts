import { describe, expect, it } from 'vitest'
import { property } from '../../../../engine/gst/element.ts'
import { maskSecretsOf } from '../../../../lib/credentials/secrets.ts'
import { Random } from '../../../helpers/rtsp/random-bytes.ts'
import { HOSTILE_PASSWORDS } from './hostile-passwords.ts'

/** What programs make of a text when they print it. */
const PRINTED: Readonly<Record<string, (secret: string) => string>> = {
  'as it is': (secret) => secret,
  'percent-encoded': encodeURIComponent,
  'percent-encoded in small letters': (secret) => encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
  'percent-encoded throughout': (secret) => [...Buffer.from(secret)].map((byte) => `%${byte.toString(16).toUpperCase()}`).join(''),
  'as a property': (secret) => property('x', secret).slice(2),
  'as JSON': (secret) => JSON.stringify(secret).slice(1, -1),
  'as JSON twice': (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  'with octals': (secret) => [...Buffer.from(secret)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
}

const HUNT = { uri: 'rtsp://u:hunt@h/' }

/** A run of eight characters of it would be a part of it. */
const shows = (text: string, secret: string): boolean =>
  Array.from({ length: Math.max(1, secret.length - 7) }, (_, at) => secret.slice(at, at + 8)).some((part) => text.includes(part))

describe('masking the secrets of a pipeline in what its child prints', () => {
  const configs = (password: string) => [
    { mode: 'simple' as const, source: { uri: `rtsp://user:${encodeURIComponent(password)}@h/a` } },
    { mode: 'simple' as const, source: { uri: `srt://h:1?mode=caller&passphrase=${encodeURIComponent(password)}` } },
    { mode: 'advanced' as const, raw_pipeline: `rtspsrc location=rtsp://h/ ${property('user-pw', password)} ! fakesink` },
  ]

  it.each(HOSTILE_PASSWORDS)('finds %s in every form', (password) => {
    for (const config of configs(password)) {
      const mask = maskSecretsOf(config)
      for (const [form, print] of Object.entries(PRINTED)) {
        const masked = mask(`could not set "${print(password)}" of the element`)
        expect(masked).toMatch(/^could not set/)
        expect([form, shows(masked, password), shows(masked, print(password))]).toEqual([form, false, false])
      }
    }
  })

  it('masks a part at the end of a text that was cut, and pieces of a long one', () => {
    const long = HOSTILE_PASSWORDS.find((password) => password.startsWith('very-long')) ?? ''
    const mask = maskSecretsOf({ mode: 'simple', source: { uri: `rtsp://u:${long}@h/` } })
    expect(mask(`the address ${long.slice(0, 20)}…`)).toBe('the address ***…')
    expect(shows(mask(`the address ${long.slice(0, 100)} and`), long.slice(0, 64))).toBe(false)
  })

  it.each([
    ['of the query of an address', { source: { uri: 'http://h/a?pass=hunter22' } }, 'no such hunter22', 'no such ***'],
    ['of a push', { source: { uri: 'test://ball' }, push: [{ uri: 'rtmp://u:hunter22@h/a' }] }, 'no such hunter22', 'no such ***'],
    ['that begins with another one', { source: HUNT, push: [{ uri: 'rtmp://u:hunter22@h/' }] }, 'hunter22 hunt', '*** ***'],
    ['of which four characters are left', { source: { uri: 'rtsp://u:hunter22@h/' } }, 'no such hunt…', 'no such ***…'],
    ['of several lines', { source: { uri: 'rtsp://u:first%0Asecond@h/' } }, 'no such second', 'no such ***'],
  ])('masks a secret %s', (_, fields, text, masked) => {
    expect(maskSecretsOf({ mode: 'simple', ...fields })(text)).toBe(masked)
  })

  it('masks a short secret as a word alone, and user names nowhere else', () => {
    const mask = maskSecretsOf({ mode: 'simple', source: { uri: 'rtsp://video:abc@h/' } })
    expect(mask('abc is not in the abcde of the video, but "abc" is')).toBe('*** is not in the abcde of the video, but "***" is')
  })

  it('finds a secret whose characters are printed each in another way', () => {
    const ways = Object.values(PRINTED)
    const random = new Random(1)
    for (const password of HOSTILE_PASSWORDS.filter((one) => !one.includes('%'))) {
      const mask = maskSecretsOf({ mode: 'simple', source: { uri: `rtsp://user:${encodeURIComponent(password)}@h/a` } })
      const printed = [...password].map((character) => ways[random.integer(ways.length)]?.(character) ?? character).join('')
      expect(mask(`could not set [${printed}]`)).toBe('could not set [***]')
    }
  })

  it.each([
    [
      'backslashes and octal codes',
      (bytes: readonly number[]) => bytes.map((byte) => `${'\\'.repeat(8)}${byte.toString(8).padStart(3, '0')}`),
    ],
    ['backslashes', (bytes: readonly number[]) => bytes.map((byte) => `${'\\'.repeat(16)}${String.fromCharCode(byte)}`)],
    ['percent codes', (bytes: readonly number[]) => bytes.map((byte) => `%${byte.toString(16)}`)],
    ['the beginnings of itself', (bytes: readonly number[]) => bytes.map((_, at) => String.fromCharCode(...bytes.slice(0, at)))],
  ])('takes linear time, judged by the timeout of the test, for a camera that knows its password and answers with %s', (_, attack) => {
    for (const password of ['\\\\\\\\\\\\\\\\', 'aaaaaaaaaaaaaaab', '1411411411411', '%%%%%%%%%%']) {
      const mask = maskSecretsOf({ mode: 'simple', source: { uri: `rtsp://u:${encodeURIComponent(password)}@h/` } })
      const almost = attack([...Buffer.from(password)].slice(0, -1)).join('')
      const text = `500 ${almost.repeat(Math.ceil(200_000 / almost.length))}!`
      expect(mask(text).endsWith('!')).toBe(true)
    }
  })

  it('masks what redact masks where a pipeline has no secret', () => {
    expect(maskSecretsOf({ mode: 'advanced', raw_pipeline: 'videotestsrc' })('rtsp://a:b@h/')).toBe('rtsp://***@h/')
  })
})
