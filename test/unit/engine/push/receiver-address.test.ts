import { expect, it } from 'vitest'
import { receiverAddress } from '../../../../engine/push/receiver-address.ts'

const { signal } = new AbortController()

it.each(['10.0.0.9', '239.77.1.1', 'fe80::1'])('%s is the address of a receiver as it is', async (host) => {
  expect(await receiverAddress(host, signal)).toBe(host)
})

it('looks up the name of a receiver', async () => {
  expect(['127.0.0.1', '::1']).toContain(await receiverAddress('localhost', signal))
})

it('is unreachable when its name has no address', async () => {
  await expect(receiverAddress('no-such-host.invalid', signal)).rejects.toMatchObject({
    reason: 'unreachable',
    message: 'The host name of the receiver has no address. Check the uri of the push and the name server.',
  })
})

it('does not wait for the name server when the push ends', async () => {
  const ending = new AbortController()
  const waiting = receiverAddress('no-such-host.invalid', ending.signal)
  ending.abort(new Error('the push ends'))
  await expect(waiting).rejects.toThrow('the push ends')
  await expect(receiverAddress('localhost', ending.signal)).rejects.toThrow('the push ends')
})
