import { createHash, randomInt } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Coverage } from './coverage.ts'
import { mutate } from './mutate.ts'

/** What is fed with hostile input. */
export interface FuzzTarget {
  /** Also the folder of its corpus in test/fixtures/fuzz. */
  readonly name: string
  /** Throws for a fault; what the product throws on purpose is none. */
  readonly run: (input: Buffer) => void
}

const CORPORA = resolve(import.meta.dirname, '../../fixtures/fuzz')
const BATCH = 25
const MAX_KEPT = 5000
/** The product may take so long for 16 kB at most, milliseconds: other cameras wait. Measured again before it counts. */
const SLOW_MS = 40

export const corpusOf = (name: string): readonly Buffer[] => {
  const folder = resolve(CORPORA, name)
  return readdirSync(folder).map((file) => readFileSync(resolve(folder, file)))
}

/** Of this thread: on a busy machine, other processes would count otherwise. */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Throws when a run throws or is slow three times in a row. */
export const tryInput = ({ run }: FuzzTarget, input: Buffer): void => {
  for (let times = 1; ; times += 1) {
    const began = cpuMs()
    run(Buffer.from(input))
    const ms = cpuMs() - began
    if (ms < SLOW_MS) return
    if (times === 3) throw new Error(`It took ${Math.round(ms)} ms`)
  }
}

/**
 * Coverage-guided fuzzing: inputs that reach new blocks of the product are kept and changed further. Ends with the first fault, whose
 * input is written to the corpus. `npm run fuzz NAME [SECONDS]`
 */
export const fuzz = (target: FuzzTarget, seconds = Number(process.argv[2] ?? 60)): void => {
  const corpus = [...corpusOf(target.name)]
  const [seen, coverage] = [new Set<string>(), new Coverage()]
  const isNew = (): boolean => coverage.take().filter((feature) => !seen.has(feature) && seen.add(feature)).length > 0
  for (const seed of corpus) attempt(target, seed)
  isNew()
  const pick = (): Buffer => corpus[randomInt(Math.max(corpus.length, 1))] ?? Buffer.alloc(1)
  const end = performance.now() + seconds * 1000
  let runs = 0
  while (performance.now() < end) {
    const inputs = Array.from({ length: BATCH }, () => mutate(pick(), pick(), (limit) => randomInt(Math.max(limit, 1))))
    for (const input of inputs) attempt(target, input)
    runs += BATCH
    if (!isNew()) continue
    corpus.push(...inputs)
    if (corpus.length > MAX_KEPT) corpus.splice(0, BATCH)
  }
  coverage.close()
  process.stdout.write(`${target.name}: ${runs} inputs in ${seconds} s, ${seen.size} blocks and counts reached, no fault\n`)
}

const attempt = (target: FuzzTarget, input: Buffer): void => {
  try {
    tryInput(target, input)
  } catch (error) {
    const folder = resolve(CORPORA, target.name)
    const file = resolve(folder, `fault-${createHash('sha256').update(input).digest('hex').slice(0, 12)}`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, input)
    throw new Error(`Input ${file}`, { cause: error })
  }
}
