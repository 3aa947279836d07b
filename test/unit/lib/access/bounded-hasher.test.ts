import { expect, it } from 'vitest'
import { boundHasher } from '../../../../lib/access/bounded-hasher.ts'

it('hashes and verifications share the slots of a bounded hasher', async () => {
  const gate = Promise.withResolvers<void>()
  const begun: string[] = []
  const compute =
    <T>(name: string, result: T) =>
    async () => {
      begun.push(name)
      await gate.promise
      return result
    }
  const hasher = boundHasher({ hash: compute('hash', 'phc'), verify: compute('verify', true) }, { running: 1, waiting: 1 })
  const calls = [hasher.hash('password'), hasher.verify('phc', 'password')]
  await expect(hasher.verify('phc', 'password')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'busy' } })
  expect(begun).toEqual(['hash'])
  gate.resolve()
  expect(await Promise.all(calls)).toEqual(['phc', true])
})
