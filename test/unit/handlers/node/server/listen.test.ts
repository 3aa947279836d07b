import { createServer } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { listen, portOf } from '../../../../../handlers/node/server/listen.ts'

const OPTIONS = { host: '127.0.0.1', purpose: 'listen', variable: 'SVC_PORT' }

it('a server goes on when connections cannot be accepted', async () => {
  const server = createServer((_request, response) => response.end('here'))
  onTestFinished(() => void server.close())
  await listen(server, { ...OPTIONS, port: 0 })
  // As node:net tells it when file descriptors run out.
  for (let times = 0; times < 3; times += 1) server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }))
  expect(await (await fetch(`http://127.0.0.1:${portOf(server)}/`)).text()).toBe('here')
})

it('a port that another program uses is told with the variable that sets it', async () => {
  const [one, other] = [createServer(), createServer()]
  onTestFinished(() => void one.close())
  await listen(one, { ...OPTIONS, port: 0 })
  await expect(listen(other, { ...OPTIONS, port: portOf(one) })).rejects.toThrow('another program uses this port; set SVC_PORT')
})

it.each(['192.0.2.1', 'no-such-host.invalid'])(
  'an address that this host does not have is told with the variable that sets it: %s',
  async (host) => {
    const server = createServer()
    await expect(listen(server, { ...OPTIONS, host, port: 0 })).rejects.toThrow(/this is no address of this host now; set SVC_HOST/)
  },
)
