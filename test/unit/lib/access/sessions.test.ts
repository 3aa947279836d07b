import { expect, it, vi } from 'vitest'
import { hasApiKey } from '../../../../lib/access/access.ts'
import { login } from '../../../../lib/access/sessions.ts'
import { createKeyedQueue } from '../../../../lib/keyed-queue.ts'

it('a login is refused whose password is changed while it is verified', async () => {
  const stored = { hash: 'the old one' as string | undefined }
  const inserted = vi.fn(async () => {})
  const deps = (change: string | undefined) =>
    ({
      credentials: { find: async () => stored.hash },
      sessions: { insert: inserted },
      hasher: { verify: async () => Boolean(Object.assign(stored, { hash: change })) },
      clock: { now: () => 0 },
      changes: createKeyedQueue(),
    }) as never
  expect(await login(deps('the old one'), { password: 'eight or more' })).toMatchObject({ expires: '1970-01-02T00:00:00.000Z' })
  for (const change of ['another one', undefined])
    await expect(login(deps(change), { password: 'eight or more' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  expect(inserted).toHaveBeenCalledTimes(1)
})

it.each([
  ['the key', 'the key', true],
  ['the key', 'the kex', false],
  ['the key', '', false],
  ['the key', undefined, false],
  ['', '', false],
])('of the key %j, the key %j is right: %j', async (apiKey, given, right) => {
  expect(await hasApiKey({ apiKey }, { apiKey: given, token: undefined })).toBe(right)
})
