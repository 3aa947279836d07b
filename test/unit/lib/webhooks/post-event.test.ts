import { describe, expect, it } from 'vitest'
import { createPostEvent } from '../../../../lib/webhooks/post-event.ts'
import { startHttpServer } from '../../../helpers/http-server.ts'

const KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const MESSAGE = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' }
const NOW = 1614265330_000
const never = new AbortController().signal

describe('the POST of an event', () => {
  it('is signed as in the example of the specification', async () => {
    const asked: Readonly<Record<string, unknown>>[] = []
    const { url } = await startHttpServer((request, response) => {
      asked.push(request.headers)
      response.end('taken, with an answer that nobody reads')
    })
    expect(await createPostEvent({ url, secret: KEY })(MESSAGE, NOW, never)).toBeUndefined()
    expect(asked[0]).toMatchObject({
      'webhook-id': MESSAGE.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })

  it('fails for what is no 2xx, follows no redirect, and does not repeat what the receiver says', async () => {
    let asked = 0
    const { url } = await startHttpServer(({ url: path = '' }, response) => {
      asked += 1
      response.writeHead(Number(path.slice(1)), { location: '/200' }).end('a secret')
    })
    const problems = [301, 307, 404, 500].map((status) => createPostEvent({ url: `${url}/${status}`, secret: KEY })(MESSAGE, NOW, never))
    expect(await Promise.all(problems)).toEqual([
      'it answers 301, a redirect; set the address it leads to',
      'it answers 307, a redirect; set the address it leads to',
      'it answers 404',
      'it answers 500',
    ])
    expect(asked).toBe(4)
  })

  it('fails when the answer does not come in time, or nobody is there', async () => {
    const hangs: typeof fetch = (_url, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
    const ended = new AbortController()
    const post = createPostEvent({ url: 'http://user:pa55word@127.0.0.1:1/x', secret: KEY }, hangs)(MESSAGE, NOW, ended.signal)
    ended.abort(new Error('the service stops'))
    expect(await post).toBe('the service stops')
    const nobody = await createPostEvent({ url: 'http://user:pa55word@127.0.0.1:2/x', secret: KEY })(MESSAGE, NOW, never)
    expect(nobody).toMatch(/ECONNREFUSED/)
    expect(nobody).not.toContain('pa55word')
  })
})
