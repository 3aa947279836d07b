import { describe, expect, it } from 'vitest'
import { DEFAULT_SETTINGS } from '../../lib/schema/settings.ts'
import { openApi, type TestApi, useTestApi } from '../helpers/api/api.ts'

const KEY = `whsec_${btoa('k'.repeat(24))}`
const TEXT = 'twenty-four characters or more'
const URL_ = 'https://robot:pa55word@hooks.test/in?token=t0ken&x=1'
const MASKED = 'https://***@hooks.test/in?token=***&x=1'
const ALL_BUT_KLV = ['pipeline_status', 'pipeline_error', 'pipeline_not_found', 'camera_added', 'camera_removed']

const put = (api: TestApi, webhooks: unknown) => api.send('PUT', '/svc/settings', { webhooks })
const stored = async (api: TestApi) => (await api.deps.settings.read()).webhooks ?? []
const open = async (...webhooks: readonly object[]) => {
  const api = await openApi()
  expect((await put(api, webhooks)).status).toBe(200)
  return api
}

const REFUSED: readonly (readonly [what: string, webhooks: unknown, path: string, advice: string])[] = [
  ['nine', Array.from({ length: 9 }, () => ({ url: 'https://a.test/', secret: KEY })), 'webhooks', 'Use at most 8 webhooks'],
  ['none of a list', 5, 'webhooks', 'Use a list'],
  ['no secret', [{ url: 'https://a.test/' }], 'webhooks.0.secret', 'This field is required'],
  ['another scheme', [{ url: 'ftp://a.test/', secret: KEY }], 'webhooks.0.url', 'https://, http://'],
  ['no host', [{ url: 'https:///x', secret: KEY }], 'webhooks.0.url', 'Use an address with a host'],
  ['an open password', [{ url: 'https://u:p/q@a.test/', secret: KEY }], 'webhooks.0.url', '/ as %2F'],
  ['a short secret', [{ url: 'https://a.test/', secret: 'x'.repeat(23) }], 'webhooks.0.secret', 'at least 24 characters'],
  ['a long secret', [{ url: 'https://a.test/', secret: 'x'.repeat(201) }], 'webhooks.0.secret', 'at most 200 characters'],
  ['a key that is no base64', [{ url: 'https://a.test/', secret: `whsec_${'*'.repeat(32)}` }], 'webhooks.0.secret', 'Use base64'],
  ['a short key', [{ url: 'https://a.test/', secret: `whsec_${btoa('short')}` }], 'webhooks.0.secret', 'at least 16 bytes'],
  ['an unknown event', [{ url: 'https://a.test/', secret: KEY, events: ['pipeline'] }], 'webhooks.0.events.0', 'pipeline_status'],
  ['no event', [{ url: 'https://a.test/', secret: KEY, events: [] }], 'webhooks.0.events', 'at least one event'],
  ['a mask without a secret', [{ url: 'https://a.test/', secret: '***' }], 'webhooks.0.secret', 'No secret is stored for this url'],
  ['a mask without credentials', [{ url: MASKED, secret: KEY }], 'webhooks.0.url', 'send the real ones'],
]

describe('settings.webhooks', () => {
  const shared = useTestApi()
  it.each(REFUSED)('refuse %s', async (_what, webhooks, path, advice) => {
    const answer = await put(shared(), webhooks)
    const { details } = (await answer.json()) as { details: { issues: readonly { path: string; message: string }[] } }
    expect([answer.status, details.issues[0]]).toEqual([400, { path, message: expect.stringContaining(advice) }])
    expect(await shared().read('/svc/settings')).toEqual(DEFAULT_SETTINGS)
  })

  it('show neither secrets nor credentials, and give none to the engine', async () => {
    const api = await open({ url: URL_, secret: KEY }, { url: 'http://b.test/', secret: TEXT, events: ['klv'] })
    const answer = await api.read('/svc/settings')
    expect(answer.webhooks).toEqual([
      { url: MASKED, secret: '***', events: ALL_BUT_KLV },
      { url: 'http://b.test/', secret: '***', events: ['klv'] },
    ])
    expect(JSON.stringify(api.engine.settings())).not.toContain('hooks')
  })

  it('keep what is stored when they come back masked, in another order too', async () => {
    const api = await open({ url: URL_, secret: KEY }, { url: 'http://b.test/', secret: TEXT })
    const before = await stored(api)
    const shown = await api.read('/svc/settings')
    expect((await api.send('PUT', '/svc/settings', shown)).status).toBe(200)
    expect(await stored(api)).toEqual(before)
    expect((await put(api, shown.webhooks.toReversed())).status).toBe(200)
    expect(await stored(api)).toEqual(before.toReversed())
    expect((await put(api, [{ ...shown.webhooks[0], events: ['klv'] }])).status).toBe(200)
    expect(await stored(api)).toEqual([{ url: URL_, secret: KEY, events: ['klv'] }])
  })

  it('change the credentials of an address and its secret one without the other', async () => {
    const api = await open({ url: URL_, secret: KEY })
    const other = URL_.replace('pa55word', 'other')
    expect((await put(api, [{ url: other, secret: '***' }])).status).toBe(200)
    expect(await stored(api)).toMatchObject([{ url: other, secret: KEY }])
    expect((await put(api, [{ url: MASKED, secret: TEXT }])).status).toBe(200)
    expect(await stored(api)).toMatchObject([{ url: other, secret: TEXT }])
    // Another host gets neither.
    expect((await put(api, [{ url: MASKED.replace('hooks', 'evil'), secret: TEXT }])).status).toBe(400)
    expect((await put(api, [{ url: 'https://evil.test/in', secret: '***' }])).status).toBe(400)
  })

  it('change the ETag with a secret that answers do not show', async () => {
    const api = await open({ url: URL_, secret: KEY })
    const etag = async (secret: string) => (await put(api, [{ url: URL_, secret }])).headers.get('etag')
    const first = await etag(KEY)
    expect([await etag(KEY), await etag(TEXT)]).toEqual([first, expect.not.stringMatching(String(first))])
  })
})
