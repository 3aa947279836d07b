/**
 * Ends the service in every way, while it plays and during its start: it exits with 0, and nothing is left soon after.
 * endings [TIMES] [playing | start]
 */
import assert from 'node:assert/strict'
import { constants } from 'node:os'
import { quantile, sleep } from '../helpers/bench/measure.ts'
import { type Launch, type MarkedRun, startMarked } from '../helpers/process/marked-run.ts'
import { catches } from '../helpers/process/processes.ts'
import { request } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const times = Number(process.argv[2] ?? 20)
const BALL = { mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }
const LIMIT_MS = 10_000

interface Way {
  readonly name: string
  readonly launch: Launch
  readonly end: (run: MarkedRun) => void
  /** The exit code is npm's own, which the signal itself ends. */
  readonly foreign?: true
}

const WAYS: readonly Way[] = [
  { name: 'Ctrl-C in a terminal on npm start', launch: 'terminal', end: (run) => run.type('\x03') },
  { name: 'SIGTERM to the group', launch: 'node', end: (run) => run.signalGroup('SIGTERM') },
  { name: 'SIGTERM to npm and its group', launch: 'npm', end: (run) => run.signalGroup('SIGTERM') },
  {
    name: 'SIGTERM twice',
    launch: 'node',
    end: (run) => {
      run.signalGroup('SIGTERM')
      setTimeout(() => run.apiPid() !== undefined && run.signalGroup('SIGTERM'), 15)
    },
  },
  { name: 'SIGHUP', launch: 'node', end: (run) => run.signalGroup('SIGHUP') },
  { name: 'SIGHUP to npm and its group', launch: 'npm', end: (run) => run.signalGroup('SIGHUP'), foreign: true },
]

interface Outcome {
  readonly code: number | null
  readonly ms: number
  readonly left: readonly string[]
}

const endOf = async (run: MarkedRun, end: Way['end']): Promise<Outcome> => {
  const began = performance.now()
  end(run)
  const code = await run.exited
  let left = await run.left()
  while (left.length > 0 && performance.now() - began < LIMIT_MS) {
    await sleep(20)
    left = await run.left()
  }
  return { code, ms: performance.now() - began, left }
}

/** Two pipelines play. */
const whilePlaying = async (run: MarkedRun): Promise<void> => {
  await run.shows('service_ready')
  for (const id of ['one', 'two']) {
    const { status } = await request(`${run.url}/svc/pipeline`, 'POST', { id, ...BALL })
    if (status !== 201) throw new Error(`the pipeline was answered with ${status}`)
  }
}

/** Somewhere between the first line of the program and its readiness. */
const duringStart = async (run: MarkedRun, round: number): Promise<void> => {
  await until(
    () => run.apiPid() ?? 0,
    (pid) => pid !== 0 && catches(pid, constants.signals.SIGHUP),
  )
  await sleep((round * 1000) / times)
}

const measure = async ({ name, launch, end, foreign }: Way, when: string, reach: (run: MarkedRun, round: number) => Promise<void>) => {
  const outcomes: Outcome[] = []
  for (let round = 0; round < times; round += 1) {
    const run = await startMarked(launch)
    try {
      await reach(run, round)
      outcomes.push(await endOf(run, end))
    } finally {
      run.clear()
    }
  }
  const ms = outcomes.map((outcome) => outcome.ms)
  const facts = {
    way: name,
    when,
    times: outcomes.length,
    exit_0: outcomes.filter(({ code }) => code === 0).length,
    ...(foreign && { exit_codes_are: 'of npm' }),
    nothing_left: outcomes.filter(({ left }) => left.length === 0).length,
    median_ms: Math.round(quantile(ms, 0.5)),
    longest_ms: Math.round(Math.max(...ms)),
    left: outcomes.flatMap(({ left }) => left),
    codes: [...new Set(outcomes.map(({ code }) => code))],
  }
  console.log(JSON.stringify(facts))
  assert.deepEqual({ ...facts, exit_0: foreign ? times : facts.exit_0 }, { ...facts, exit_0: times, nothing_left: times })
}

const only = process.argv[3]
for (const way of only === 'start' ? [] : WAYS) await measure(way, 'playing', whilePlaying)
for (const way of only === 'playing' ? [] : WAYS) await measure(way, 'during the start', duringStart)
