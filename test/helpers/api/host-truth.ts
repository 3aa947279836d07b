import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { childrenOf, openFiles } from '../process/processes.ts'
import type { Service } from '../process/service.ts'

/** The fields of a pipeline that can be compared with the host. */
export interface Shown {
  readonly id: string
  readonly state: string
  readonly on_demand: boolean
  readonly output: { readonly uri: string }
  readonly source?: { readonly uri: string }
  readonly encoding?: object | null
  readonly runtime: {
    readonly phase: string
    readonly desired: string
    readonly since: string
    readonly restarts: number
    readonly last_frame_age_ms: number | null
  }
}

export const shownPipelines = async (service: Service): Promise<readonly Shown[]> => {
  const { status, body } = await service.request('GET', '/svc/pipeline')
  if (status !== 200) throw new Error(`the list is answered ${status}: ${JSON.stringify(body)}`)
  return body as readonly Shown[]
}

/** Whether it plays by a child in any case: the engine itself may read an RTSP source that is passed through. */
export const needsChild = ({ source, encoding }: Shown): boolean => !source?.uri.startsWith('rtsp') || (encoding ?? null) !== null

/** Children of the engine that carry media; without those that check or decode something. */
export const mediaChildren = (enginePid: number): readonly number[] =>
  childrenOf(enginePid)
    .filter(({ command }) => /\bgst-launch-1\.0(?:$| .*fd=3)/.test(command))
    .map(({ pid }) => pid)

/** TCP ports on which a process listens, from /proc/net/tcp and its descriptors. */
export const listeningPorts = (pid: number): readonly number[] => {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return [/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]]
      } catch {
        return []
      }
    }),
  )
  const LISTEN = '0A'
  const ports = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === LISTEN && sockets.has(inode))
      .map(([, local = '']) => Number.parseInt(local.split(':')[1] ?? '', 16)),
  )
  return [...new Set(ports)].sort((one, other) => one - other)
}

/** Open descriptors of the engine without the connections of the API. */
export const engineFiles = (service: Service): number => {
  const pid = service.enginePid()
  const { url } = JSON.parse(readFileSync(join(service.dataDir, 'engine.json'), 'utf8')) as { url: string }
  const local = `:${Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0')}`
  const ESTABLISHED = '01'
  const calls = readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address = '', , state]) => address.endsWith(local) && state === ESTABLISHED)
  return openFiles(pid) - calls.length
}

const RUNS = new Set(['starting', 'playing', 'reconnecting', 'stopping'])

/** Differences between pipelines, processes, ports and database; empty when they agree. */
export const disagreements = async (service: Service, outputs: { readonly first: number; readonly last: number }): Promise<string[]> => {
  const shown = await shownPipelines(service)
  const found: string[] = []
  const children = mediaChildren(service.enginePid()).length
  const playing = shown.filter(({ runtime }) => runtime.phase === 'playing')
  const running = shown.filter(({ runtime }) => RUNS.has(runtime.phase))
  if (children < playing.filter(needsChild).length || children > running.length) {
    found.push(`${children} media processes for ${playing.length} playing and ${running.length} running pipelines`)
  }
  for (const { id, state, runtime } of shown) {
    if (state === 'playing' && !RUNS.has(runtime.phase)) found.push(`${id} is playing in the phase ${runtime.phase}`)
    if (runtime.phase === 'playing' && state !== 'playing') found.push(`${id} is ${state} in the phase playing`)
    if (runtime.phase === 'playing' && (runtime.last_frame_age_ms ?? Number.POSITIVE_INFINITY) > 5000)
      found.push(`${id} plays without frames`)
  }
  const open = listeningPorts(service.enginePid()).filter((port) => port >= outputs.first && port <= outputs.last)
  const expected = shown
    .filter(({ on_demand, runtime }) => on_demand || RUNS.has(runtime.phase))
    .map(({ output }) => Number(new URL(output.uri.replace(/^rtsp/, 'http')).port))
    .sort((one, other) => one - other)
  if (JSON.stringify(open) !== JSON.stringify(expected)) found.push(`the ports ${open} are open, expected ${expected}`)
  const stored = await storedPipelines(service)
  const told = shown.map(({ id, runtime, output }) => `${id} ${runtime.desired} ${output.uri}`).sort()
  if (JSON.stringify(stored) !== JSON.stringify(told)) found.push(`stored ${JSON.stringify(stored)}, shown ${JSON.stringify(told)}`)
  return found
}

const storedPipelines = async (service: Service): Promise<readonly string[]> => {
  const client = createClient({ url: `file:${join(service.dataDir, 'service.db')}` })
  try {
    const { rows } = await client.execute('SELECT id, desired, output_uri FROM pipelines')
    return rows.map(({ id, desired, output_uri }) => `${id} ${desired} ${output_uri}`).sort()
  } finally {
    client.close()
  }
}
