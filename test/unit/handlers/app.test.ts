import { describe, expect, it } from 'vitest'
import { type AppDeps, assemble, createApp, type HostPorts } from '../../../handlers/app.ts'

describe('the application without its ports', () => {
  it('names the missing ports', () => {
    const some = { engine: {}, clock: { now: () => 0 }, version: '1', startedAt: 0, uptimeSeconds: () => 0, apiKey: '' }
    expect(() => assemble(undefined as unknown as HostPorts)).toThrow(/Missing: engine, screenshots, .*startedAt, uptimeSeconds$/)
    expect(() => assemble(some as unknown as HostPorts)).toThrow(
      'assemble needs more ports (HostPorts). Missing: ' +
        'screenshots, recordings, klv, live, cameras, pipelines, settings, credentials, sessions, hasher, license, apiKey, log',
    )
  })

  it.each([undefined, {}, { engine: {} }])('asks for assembled ports: %j', (deps) => {
    expect(() => createApp(deps as unknown as AppDeps)).toThrow('createApp(assemble(ports))')
  })
})
