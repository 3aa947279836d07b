/**
 * GET of one pipeline and of lists, beside the same representations served by fastify and better-sqlite3, in turns: answers per second
 * of CPU time of all processes (API and engine; the peer), and the longest time that an event loop is blocked by a list.
 * reads [ROUNDS] [SECONDS] [PIPELINES …]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadGets } from '../../helpers/bench/http-load.ts'
import { cpuSeconds, quantile, start } from '../../helpers/bench/measure.ts'
import { createIdlePipelines, withService } from '../../helpers/bench/service-run.ts'
import { watchedLoops, watchLoops } from '../../helpers/bench/watch-loops.ts'
import { freePort } from '../../helpers/ports.ts'

const [rounds = 3, seconds = 5, ...sizes] = process.argv.slice(2).map(Number)
const SIZES = sizes.length === 0 ? [100, 10_000] : sizes
const CONNECTIONS = 16
const WARM_UP_SECONDS = 2
const folder = mkdtempSync(join(tmpdir(), 'reads-'))
const env = { SVC_OUTPUT_PORTS: String(await freePort()), ...watchedLoops(folder) }

interface Subject {
  readonly name: 'ours' | 'theirs'
  readonly url: string
  readonly pids: readonly number[]
}

const cpuOf = ({ pids }: Subject): number => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)

/** Answers per CPU second. */
const rate = async (subject: Subject, path: string): Promise<number> => {
  // The first answers are those of code that is not compiled yet.
  await loadGets(`${subject.url}${path}`, { connections: CONNECTIONS, seconds: WARM_UP_SECONDS })
  const before = cpuOf(subject)
  const { answers } = await loadGets(`${subject.url}${path}`, { connections: CONNECTIONS, seconds })
  return answers / (cpuOf(subject) - before)
}

/** The longest block of an event loop of the subject while one client after the other reads, milliseconds. */
const longestBlock = async (subject: Subject, path: string): Promise<number> => {
  const longest = await watchLoops(subject.pids, folder)
  await loadGets(`${subject.url}${path}`, { connections: 1, seconds })
  return longest()
}

const range = (values: readonly number[], digits = 0) => ({
  median: Number(quantile(values, 0.5).toFixed(digits)),
  min: Number(Math.min(...values).toFixed(digits)),
  max: Number(Math.max(...values).toFixed(digits)),
})

/** The subjects take turns, so what else the machine does meets both. */
const inTurns = async (subjects: readonly Subject[], measure: (subject: Subject) => Promise<number>, digits?: number) => {
  const found = new Map(subjects.map(({ name }) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round += 1) {
    for (const subject of subjects) found.get(subject.name)?.push(await measure(subject))
  }
  return { ours: range(found.get('ours') ?? [], digits), theirs: range(found.get('theirs') ?? [], digits) }
}

const report = (row: string, figures: { readonly ours: { median: number }; readonly theirs: { median: number } }): void => {
  const ratio = Number((figures.ours.median / figures.theirs.median).toFixed(2))
  process.stdout.write(`${JSON.stringify({ row, ...figures, ratio })}\n`)
}

const measureSize = async (size: number): Promise<void> => {
  await withService(async (service) => {
    await createIdlePipelines(service, size)
    const file = join(folder, `${size}.jsonl`)
    const { body } = await service.request('GET', '/svc/pipeline')
    writeFileSync(file, body.map((pipeline: unknown) => JSON.stringify(pipeline)).join('\n'))
    Object.assign(process.env, env)
    const peer = start(process.execPath, [join(import.meta.dirname, '../../helpers/bench/records-server.ts'), file])
    await peer.until((lines) => lines.some((line) => line.startsWith('ready')))
    const subjects: Subject[] = [
      { name: 'ours', url: service.url, pids: [service.pid, service.enginePid()] },
      { name: 'theirs', url: peer.lines[0]?.split(' ')[1] ?? '', pids: [peer.pid] },
    ]
    const one = (subject: Subject) => rate(subject, `/svc/pipeline/camera-${Math.floor(size / 2)}`)
    const list = (subject: Subject) => rate(subject, '/svc/pipeline')
    report(`GET one of ${size}, answers per CPU second`, await inTurns(subjects, one))
    report(`list of ${size}, answers per CPU second`, await inTurns(subjects, list, 1))
    report(
      `list of ${size}, longest block of an event loop, ms`,
      await inTurns(subjects, (subject) => longestBlock(subject, '/svc/pipeline'), 1),
    )
    await peer.stop()
  }, env)
}

try {
  for (const size of SIZES) await measureSize(size)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
