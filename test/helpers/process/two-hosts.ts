import { execFileSync, spawnSync } from 'node:child_process'
import { onTestFinished } from 'vitest'

/** Two network namespaces joined by a bridge that can be disconnected. */
export interface TwoHosts {
  readonly api: string
  readonly engine: string
  /** The engine host's address as the API host sees it. */
  readonly engineAddress: string
  /** The argv that runs a command on a host. */
  on(host: string, command: readonly string[]): readonly string[]
  /** Drops the packets between the two from now on, without a link-down on either side. */
  cut(): void
  join(): void
}

const ip = (...args: string[]): void => {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

let networks = 0

/** Needs root. The namespaces are removed after the test. */
export const createTwoHosts = (): TwoHosts => {
  const prefix = `vps${process.pid}n${networks++}`
  const [api, engine, middle] = [`${prefix}a`, `${prefix}e`, `${prefix}m`]
  const engineAddress = '10.99.0.2'
  onTestFinished(() => {
    for (const host of [api, engine, middle]) spawnSync('ip', ['netns', 'delete', host])
  })
  for (const host of [api, engine, middle]) {
    ip('netns', 'add', host)
    ip('-n', host, 'link', 'set', 'lo', 'up')
  }
  ip('-n', middle, 'link', 'add', 'switch', 'type', 'bridge', 'forward_delay', '0')
  ip('-n', middle, 'link', 'set', 'switch', 'up')
  for (const [host, port, address] of [
    [api, 'port1', '10.99.0.1/24'],
    [engine, 'port2', `${engineAddress}/24`],
  ] as const) {
    ip('-n', middle, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', host)
    ip('-n', middle, 'link', 'set', port, 'master', 'switch', 'up')
    ip('-n', host, 'address', 'add', address, 'dev', 'eth0')
    ip('-n', host, 'link', 'set', 'eth0', 'up')
  }
  return {
    api,
    engine,
    engineAddress,
    on: (host, command) => ['ip', 'netns', 'exec', host, ...command],
    cut: () => ip('-n', middle, 'link', 'set', 'port2', 'nomaster'),
    join: () => ip('-n', middle, 'link', 'set', 'port2', 'master', 'switch'),
  }
}
