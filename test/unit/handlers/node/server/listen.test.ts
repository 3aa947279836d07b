import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen, portOf, reachableUrl } from '../../../../../handlers/node/server/listen.ts'

const OPTIONS = { host: '127.0.0.1', port: 0, purpose: 'listen', variable: 'SVC_PORT' }

describe('a server', () => {
  it('continues when connections cannot be accepted', async () => {
    const server = createServer((_request, response) => response.end('here'))
    onTestFinished(() => void server.close())
    await listen(server, OPTIONS)
    // As node:net emits it when file descriptors run out.
    for (let times = 0; times < 3; times += 1) server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }))
    expect(await (await fetch(`http://127.0.0.1:${portOf(server)}/`)).text()).toBe('here')
  })

  it('at a port that another program uses fails with the variable that sets it', async () => {
    const [one, other] = [createServer(), createServer()]
    onTestFinished(() => void one.close())
    await listen(one, OPTIONS)
    await expect(listen(other, { ...OPTIONS, port: portOf(one) })).rejects.toThrow('another program uses this port; set SVC_PORT')
  })

  it.each(['192.0.2.1', 'no-such-host.invalid'])('at %s, no address of this host, fails with the variable that sets it', async (host) => {
    await expect(listen(createServer(), { ...OPTIONS, host })).rejects.toThrow('this is not an address of this host; set SVC_HOST')
  })
})

const lo = [{ address: '127.0.0.1', family: 'IPv4', internal: true }] as const
const eth0 = [
  { address: 'fe80::1', family: 'IPv6', internal: false },
  { address: '10.0.0.7', family: 'IPv4', internal: false },
] as const

it.each([
  ['http://0.0.0.0:8080', { lo, eth0 }, 'http://10.0.0.7:8080'],
  ['http://[::]:8080', { lo, eth0 }, 'http://10.0.0.7:8080'],
  ['http://0.0.0.0:8080', { lo }, 'http://127.0.0.1:8080'],
  ['http://127.0.0.1:8080', { lo, eth0 }, 'http://127.0.0.1:8080'],
  ['http://10.0.0.0.0:8080', { lo, eth0 }, 'http://10.0.0.0.0:8080'],
  ['http://[fd00::7]:8080', { lo, eth0 }, 'http://[fd00::7]:8080'],
])('the address that is shown at the start for %s on %o is %s', (url, interfaces, shown) => {
  expect(reachableUrl(url, interfaces)).toBe(shown)
})
