import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createRandom } from '../random.ts'

/** What a link does to datagrams, in both directions. */
export interface LinkFaults {
  /** Part of the datagrams that is lost, 0 to 1. */
  readonly loss: number
  readonly delayMs: number
  /** Part that is not delayed, and so overtakes the rest, as netem does it. */
  readonly reordered: number
  /** What it takes to the client, bits per second; more than 300 ms of it are lost. Any number by default. */
  readonly capacity?: number
}

const QUEUE_MS = 300

interface BadLink {
  readonly port: number
  /** Datagrams that were passed on, and lost, so far. */
  readonly counts: { passed: number; lost: number }
  set(faults: LinkFaults): void
  close(): void
}

/** A UDP port that leads to another one over such a link, for kernels without netem; each client keeps its own port on the other side. */
export const openBadLink = async (to: { readonly host: string; readonly port: number }, seed: number): Promise<BadLink> => {
  const { chance } = createRandom(seed)
  const counts = { passed: 0, lost: 0 }
  let faults: LinkFaults = { loss: 0, delayMs: 0, reordered: 0 }
  const timers = new Set<NodeJS.Timeout>()
  let freeMs = 0
  /** How long a datagram waits for those before it, milliseconds; undefined: it is lost. */
  const queue = (bytes: number): number | undefined => {
    const { capacity } = faults
    const nowMs = performance.now()
    if (capacity === undefined) return 0
    if (freeMs - nowMs > QUEUE_MS) return undefined
    freeMs = Math.max(freeMs, nowMs) + (bytes * 8000) / capacity
    return freeMs - nowMs
  }
  const carry = (send: () => void, waitMs: number | undefined = 0): void => {
    const { loss, reordered } = faults
    const delayMs = faults.delayMs + (waitMs ?? 0)
    if (waitMs === undefined || chance(loss)) {
      counts.lost += 1
      return
    }
    counts.passed += 1
    if (delayMs === 0 || chance(reordered)) send()
    else {
      const timer = setTimeout(() => {
        timers.delete(timer)
        send()
      }, delayMs)
      timers.add(timer)
    }
  }
  const front = createSocket('udp4')
  const backs = new Map<string, Socket>()
  front.on('message', (datagram, { address, port }) => {
    const client = `${address}:${port}`
    let back = backs.get(client)
    if (back === undefined) {
      back = createSocket('udp4')
      back.on('message', (answer) => carry(() => front.send(answer, port, address), queue(answer.length)))
      backs.set(client, back)
    }
    const known = back
    carry(() => known.send(datagram, to.port, to.host))
  })
  front.bind(0, '0.0.0.0')
  await once(front, 'listening')
  return {
    port: front.address().port,
    counts,
    set: (next) => {
      faults = next
    },
    close: () => {
      for (const timer of timers) clearTimeout(timer)
      for (const socket of [front, ...backs.values()]) socket.close()
    },
  }
}
