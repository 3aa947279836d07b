import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { EngineAnswers } from '../../../../engine/http/dispatch.ts'
import { createEngineServer } from '../../../../engine/http/server.ts'

it('a probe needs no secret and counts as no contact; everything else needs the secret', async () => {
  let contacts = 0
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const server = createEngineServer({ answers: {} as EngineAnswers, token: 'a-secret', log, onContact: () => contacts++ })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const probe = await fetch(`${url}/healthz`)
  expect([probe.status, await probe.json()]).toEqual([200, { status: 'ok' }])
  for (const path of ['/status', '/healthz/', '/healthz?x=1', '/']) expect((await fetch(`${url}${path}`)).status).toBe(401)
  expect(contacts).toBe(0)
})
