import { execFileSync, spawnSync } from 'node:child_process'

/** Another host on this machine: a network namespace behind a link of its own. Needs root. */
interface FarHost {
  /** Begins a command that runs there. */
  readonly prefix: readonly string[]
  readonly address: string
  close(): void
}

const ip = (...args: readonly string[]): void => void execFileSync('ip', args)

/** `net`: the third number of its addresses, 10.213.net.2 there and 10.213.net.1 here. */
export const openFarHost = (name: string, net: number): FarHost => {
  const address = `10.213.${net}.2`
  const close = (): void => void spawnSync('ip', ['netns', 'delete', name], { stdio: 'ignore' })
  close()
  ip('netns', 'add', name)
  ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
  ip('addr', 'add', `10.213.${net}.1/24`, 'dev', name)
  ip('link', 'set', name, 'up')
  ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0')
  for (const device of ['lo', 'eth0']) ip('-n', name, 'link', 'set', device, 'up')
  return { prefix: ['ip', 'netns', 'exec', name], address, close }
}
