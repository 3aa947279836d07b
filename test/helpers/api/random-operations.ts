import { setTimeout as sleep } from 'node:timers/promises'
import { childrenOf } from '../process/processes.ts'
import type { Answer, Service } from '../process/service.ts'
import { createRandom, type Random } from '../random.ts'
import { connectReader, openReader, type RtspReader } from '../rtsp/reader.ts'
import { type RtspSource, startRtspSource } from '../rtsp/source.ts'
import { until } from '../until.ts'
import { disagreements, engineFiles, mediaChildren, needsChild, shownPipelines } from './host-truth.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l']
/** Longer than any operation may take: a start times out after 3 s, a stop kills after 9 s. */
const OPERATION_MS = 30_000
const START_TIMEOUT_SECONDS = 3

/** Statuses that an operation may get while others interfere. */
const ALLOWED = {
  create: [201, 409, 500, 504],
  replace: [200, 404, 409],
  play: [200, 404, 409, 500, 504],
  stop: [200, 404],
  delete: [204, 404, 409],
  read: [200, 402, 404, 503, 504],
  killChild: [0],
  killSource: [0],
} as const

type Kind = keyof typeof ALLOWED
const WEIGHTED: readonly Kind[] = [
  ...Array<Kind>(6).fill('create'),
  ...Array<Kind>(5).fill('play'),
  ...Array<Kind>(5).fill('stop'),
  ...Array<Kind>(4).fill('delete'),
  ...Array<Kind>(3).fill('replace'),
  ...Array<Kind>(3).fill('read'),
  ...Array<Kind>(3).fill('killChild'),
  'killSource',
]

interface Operation {
  readonly kind: Kind
  readonly id: string
  readonly onDemand: boolean
  readonly source: number
  readonly dice: number
}

export interface OperationsReport {
  /** How often each operation got each answer. */
  readonly answers: Readonly<Record<string, number>>
  readonly slowestMs: number
  readonly looks: number
  /** Violations; empty when all is well. */
  readonly faults: readonly string[]
}

export interface OperationsOptions {
  readonly seed: number
  readonly operations: number
  readonly clients: number
  readonly outputs: { readonly first: number; readonly last: number }
}

const draw = (random: Random): Operation => ({
  kind: random.pick(WEIGHTED),
  id: random.pick(NAMES),
  onDemand: random.chance(0.4),
  source: random.integer(5),
  dice: random.next(),
})

/**
 * Lets clients do random things at once to pipelines, children and sources; watches on the way that what is told is so, and looks at
 * the end whether pipelines, processes, ports and database agree, and whether anything is left over once all is deleted.
 */
export const runRandomOperations = async (service: Service, options: OperationsOptions): Promise<OperationsReport> => {
  const random = createRandom(options.seed)
  const queue = Array.from({ length: options.operations }, () => draw(random))
  const faults: string[] = []
  const answers: Record<string, number> = {}
  let slowestMs = 0
  await service.request('PUT', '/svc/settings', {
    start_timeout_seconds: START_TIMEOUT_SECONDS,
    reconnect: { initial_delay_ms: 100, max_delay_seconds: 1 },
    on_demand: { close_after_seconds: 1 },
  })
  const idleFiles = engineFiles(service)
  const world = await createWorld(service)
  const watch = watchTruth(service)

  const client = async (): Promise<void> => {
    for (let operation = queue.shift(); operation !== undefined; operation = queue.shift()) {
      const began = performance.now()
      const status = await Promise.race([world.perform(operation), sleep(OPERATION_MS, 'no answer' as const, { ref: false })]).catch(String)
      slowestMs = Math.max(slowestMs, performance.now() - began)
      const key = `${operation.kind} ${status}`
      answers[key] = (answers[key] ?? 0) + 1
      if (!(ALLOWED[operation.kind] as readonly unknown[]).includes(status)) faults.push(`${key} of ${operation.id}`)
    }
  }
  try {
    await Promise.all(Array.from({ length: options.clients }, client))
    faults.push(...(await watch.end()))
    faults.push(...(await settled(service, options.outputs)))
    await world.readersGone()
    for (const { id } of await shownPipelines(service)) {
      const stop = await service.request('PUT', `/svc/pipeline/${id}/stop`)
      const gone = await service.request('DELETE', `/svc/pipeline/${id}`)
      if (stop.status !== 200 || gone.status !== 204) faults.push(`${id} is left: stop ${stop.status}, delete ${gone.status}`)
    }
    faults.push(...(await settled(service, options.outputs)))
    if (mediaChildren(service.enginePid()).length > 0) faults.push('processes are left')
    await until(
      () => engineFiles(service),
      (files) => files <= idleFiles,
    ).catch((error: Error) => faults.push(`descriptors are left: ${error.message}`))
  } finally {
    await watch.end()
    await world.end()
  }
  return { answers, slowestMs: Math.round(slowestMs), looks: watch.looks(), faults }
}

/** Waits until nothing disagrees: a start or a retry may be in progress. */
const settled = async (service: Service, outputs: OperationsOptions['outputs']): Promise<readonly string[]> => {
  let last: readonly string[] = []
  await until(
    async () => {
      last = await disagreements(service, outputs)
      return last
    },
    (found) => found.length === 0,
  ).catch(() => {})
  return last
}

/** Compares phases with processes repeatedly; what two looks in a row find is a fault. */
const watchTruth = (service: Service) => {
  let looks = 0
  let going = true
  const faults: string[] = []
  const look = async (): Promise<string | undefined> => {
    const before = await shownPipelines(service)
    const children = mediaChildren(service.enginePid()).length
    const after = new Map((await shownPipelines(service)).map((pipeline) => [pipeline.id, pipeline]))
    looks += 1
    const same = before.filter((pipeline) => {
      const later = after.get(pipeline.id)
      return later?.runtime.since === pipeline.runtime.since && later.runtime.restarts === pipeline.runtime.restarts
    })
    const playing = same.filter((pipeline) => pipeline.runtime.phase === 'playing' && needsChild(pipeline)).length
    return children < playing ? `${playing} pipelines were shown playing while ${children} media processes lived` : undefined
  }
  const watching = (async () => {
    while (going) {
      // The engine notices a killed child a moment later.
      if ((await look()) !== undefined && (await look()) !== undefined) faults.push((await look()) ?? '')
      await sleep(50)
    }
  })()
  return {
    looks: () => looks,
    end: async (): Promise<readonly string[]> => {
      going = false
      await watching
      return faults.filter((fault) => fault !== '')
    },
  }
}

const createWorld = async (service: Service) => {
  const sources: RtspSource[] = [await startRtspSource(['--width', '160', '--height', '120', '--fps', '15', '--gop-seconds', '1'])]
  const readers = new Set<RtspReader>()
  const revivals: Promise<void>[] = []
  let sourceAway = false

  const uri = (which: number): string => (which < 2 ? (sources[0]?.url('/h264') ?? '') : 'test://ball?width=160&height=120&fps=15')
  const body = ({ id, onDemand, source }: Operation) => ({
    id,
    mode: 'simple',
    on_demand: onDemand,
    source: { uri: uri(source), latency_ms: 0 },
  })
  const status = (answer: Promise<Answer>): Promise<number> => answer.then((got) => got.status)
  const path = ({ id }: Operation, rest = ''): string => `/svc/pipeline/${id}${rest}`

  const read = async ({ id, dice }: Operation): Promise<number> => {
    const found = await service.request('GET', `/svc/pipeline/${id}`)
    if (found.status !== 200) return found.status
    const url = found.body.output.uri.replace('0.0.0.0', '127.0.0.1')
    const asking = await connectReader(url).catch(() => undefined)
    if (asking === undefined) return 404
    readers.add(asking)
    const described = await asking.describe().then(
      (answer) => answer.status,
      // The pipeline was stopped or deleted meanwhile.
      () => 404,
    )
    await asking.close()
    readers.delete(asking)
    if (described !== 200) return described
    const reader = await openReader(url, { record: false, transport: dice < 0.5 ? 'udp' : 'tcp' }).catch(() => undefined)
    if (reader === undefined) return 404
    readers.add(reader)
    revivals.push(
      sleep(dice * 1500)
        .then(() => reader.close())
        .then(() => {
          readers.delete(reader)
        }),
    )
    return 200
  }

  const killChild = (dice: number): number => {
    // Not a sandbox that is still being made: what is inside of it would be an orphan.
    const children = childrenOf(service.enginePid()).filter(({ command }) => /^\S*gst-launch-1\.0\b/.test(command))
    const victim = children[Math.floor(dice * children.length)]?.pid
    try {
      if (victim !== undefined) process.kill(victim, 'SIGKILL')
    } catch {
      // It has just ended by itself.
    }
    return 0
  }

  const killSource = (dice: number): number => {
    const [source] = sources
    if (source === undefined || sourceAway) return 0
    sourceAway = true
    revivals.push(
      (async () => {
        await source.stop()
        await sleep(dice * 1500)
        sources[0] = await startRtspSource(['--port', String(source.port), '--width', '160', '--height', '120', '--fps', '15'])
        sourceAway = false
      })(),
    )
    return 0
  }

  const PERFORM: Readonly<Record<Kind, (operation: Operation) => Promise<number> | number>> = {
    create: (operation) => status(service.request('POST', '/svc/pipeline', body(operation))),
    replace: (operation) => status(service.request('PUT', path(operation), body(operation))),
    play: (operation) => status(service.request('PUT', path(operation, '/play'))),
    stop: (operation) => status(service.request('PUT', path(operation, '/stop'))),
    delete: (operation) => status(service.request('DELETE', path(operation))),
    read,
    killChild: ({ dice }) => killChild(dice),
    killSource: ({ dice }) => killSource(dice),
  }
  const readersGone = async (): Promise<void> => {
    await Promise.all(revivals)
    await Promise.all([...readers].map((reader) => reader.close()))
  }
  return {
    perform: async (operation: Operation): Promise<number> => PERFORM[operation.kind](operation),
    readersGone,
    end: async (): Promise<void> => {
      await readersGone()
      for (const source of sources) await source.stop()
    },
  }
}
