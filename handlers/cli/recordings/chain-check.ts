import { createHash, type KeyObject, verify } from 'node:crypto'
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type ChainLine, readLine } from '../../../lib/segments/chain.ts'
import { isDay, segmentTime } from '../../../lib/segments/segment-name.ts'

/** What does not hold, of one segment. */
export interface Finding {
  /** Its path. */
  readonly path: string
  readonly fault: 'altered' | 'missing' | 'unknown' | 'out of order'
  readonly why: string
}

/** A day of a pipeline to check; `only`: the name of the one segment whose content counts. */
interface ChainToCheck {
  /** The folder of the pipeline. */
  readonly folder: string
  readonly day: string
  readonly only?: string
}

interface SignedLine {
  readonly line: ChainLine
  readonly signed: string
  /** SHA-256 of its text. */
  readonly hash: string
}

const CHAIN = '.chain'
const OPEN_FILE = '.open'
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The chains at a path: a segment, a chain, the folder of a day, of a pipeline, or of all. */
export const chainsAt = (path: string): readonly ChainToCheck[] => {
  const name = basename(path)
  if (!statSync(path).isDirectory()) {
    if (name.endsWith(CHAIN)) return [{ folder: dirname(path), day: name.slice(0, -CHAIN.length) }]
    return [{ folder: dirname(dirname(path)), day: basename(dirname(path)), only: name }]
  }
  if (isDay(name) && !holdsDays(path)) return [{ folder: dirname(path), day: name }]
  const days = daysOf(path)
  if (days.length > 0) return days.map((day) => ({ folder: path, day }))
  const entries = readdirSync(path, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => daysOf(join(path, entry.name)).map((day) => ({ folder: join(path, entry.name), day })))
}

const holdsDays = (path: string): boolean => daysOf(path).length > 0

/** The days of a pipeline that have a chain or a folder, the oldest first. */
const daysOf = (folder: string): readonly string[] => {
  const names = readdirSync(folder).map((name) => (name.endsWith(CHAIN) ? name.slice(0, -CHAIN.length) : name))
  return [...new Set(names.filter(isDay))].sort()
}

/** The first thing that does not hold in a chain, in its order; undefined when all does. Rejects with the file system's error. */
export const checkChain = async (chain: ChainToCheck, key: KeyObject): Promise<Finding | undefined> =>
  // The service may append to the chain while it is read; a line that was cut off then is whole at the second look.
  (await checkOnce(chain, key)) && checkOnce(chain, key)

const checkOnce = async ({ folder, day, only }: ChainToCheck, key: KeyObject): Promise<Finding | undefined> => {
  const at = (name: string): string => join(folder, day, name)
  // In this order a segment that is written meanwhile is among the open ones or has its line.
  const files = existsSync(join(folder, day)) ? readdirSync(join(folder, day)).sort() : []
  const open = openSegments(folder, key)
  const { lines, broken } = readChain(join(folder, `${day}${CHAIN}`))
  // The service states that it removes a file before it does, maybe after the chain was read.
  let removals = removalsOf(lines)
  const mayBeGone = (number: number, name: string): boolean => {
    if (name > (removals[number] ?? '')) removals = removalsOf(readChain(join(folder, `${day}${CHAIN}`)).lines)
    return name <= (removals[number] ?? '')
  }
  const known = new Set<string>()
  for (const [number, { line, signed }] of lines.entries()) {
    const path = at(line.segment ?? line.removed ?? '')
    const fault = lineFault({ line, signed, before: lines[number - 1] }, { folder, day, key })
    if (fault !== undefined) return { path, ...fault }
    if (line.segment === undefined) continue
    if (known.has(line.segment)) return { path, fault: 'out of order', why: 'its line is there twice' }
    known.add(line.segment)
    const changed =
      only === undefined || only === line.segment ? await contentFault(path, line, (name) => mayBeGone(number, name)) : undefined
    if (changed !== undefined) return { path, ...changed }
  }
  if (broken !== undefined)
    return { path: join(folder, `${day}${CHAIN}`), fault: 'altered', why: `its line ${broken} is no line of a chain` }
  const unknown = files.find((name) => (only === undefined || name === only) && !known.has(name) && !open.has(segmentTime(name)))
  return unknown === undefined ? undefined : { path: at(unknown), fault: 'unknown', why: 'it has no line in the chain' }
}

type Fault = Omit<Finding, 'path'>

/** Line by line; the number of the first one that cannot be read, which ends the chain. */
const readChain = (path: string): { readonly lines: readonly SignedLine[]; readonly broken?: number } => {
  if (!existsSync(path)) return { lines: [] }
  const texts = readFileSync(path, 'utf8').split('\n')
  // The last line has its end as all others; a process that was killed leaves none without.
  if (texts.at(-1) === '') texts.pop()
  const lines: SignedLine[] = []
  for (const [number, text] of texts.entries()) {
    const read = readLine(text)
    if (read === undefined) return { lines, broken: number + 1 }
    lines.push({ ...read, hash: sha256(text) })
  }
  return { lines }
}

interface Where {
  readonly folder: string
  readonly day: string
  readonly key: KeyObject
}

const lineFault = (
  { line, signed, before }: { readonly line: ChainLine; readonly signed: string; readonly before: SignedLine | undefined },
  { folder, day, key }: Where,
): Fault | undefined => {
  const signature = Buffer.from(line.signature, 'base64')
  // Other text may have the same bytes.
  if (signature.toString('base64') !== line.signature || !verify(null, Buffer.from(signed), key, signature))
    return { fault: 'altered', why: 'its line is not signed with this key' }
  if (line.pipeline_id !== basename(folder)) return { fault: 'out of order', why: `its line is of the pipeline ${line.pipeline_id}` }
  if (before === undefined) return beginFault(line, folder, day)
  return line.previous === before.hash ? undefined : { fault: 'out of order', why: 'its line does not follow the line before' }
}

/**
 * The first line of a day follows one of a day before, unless those were deleted: the last one of then. Lines come after it where segments
 * were removed, or where the clock of the host was set back, which may also make a day before that is younger.
 */
const beginFault = ({ previous }: ChainLine, folder: string, day: string): Fault | undefined => {
  const before = daysOf(folder).filter((other) => other < day)
  const chains = before.map((other) => readChain(join(folder, `${other}${CHAIN}`)).lines).filter((lines) => lines.length > 0)
  const follows = previous === null || chains.length === 0 || chains.some((lines) => lines.some(({ hash }) => hash === previous))
  return follows ? undefined : { fault: 'out of order', why: `its line does not follow the chain of ${before.at(-1)}` }
}

/** For each line, the newest segment that a later line states to be removed, as all before it are; '' without one. */
const removalsOf = (lines: readonly SignedLine[]): readonly string[] => {
  let newest = ''
  return lines
    .toReversed()
    .map(({ line: { removed = '' } }) => {
      newest = removed > newest ? removed : newest
      return newest
    })
    .toReversed()
}

/** `mayBeGone`: whether the service has removed a segment itself. */
const contentFault = async (path: string, line: ChainLine, mayBeGone: (name: string) => boolean): Promise<Fault | undefined> => {
  const name = line.segment ?? ''
  if (segmentTime(name) === undefined) return { fault: 'altered', why: 'its name is none of a segment' }
  try {
    if (statSync(path).size !== line.bytes) return { fault: 'altered', why: 'the file has another size' }
    return (await fileHash(path)) === line.sha256 ? undefined : { fault: 'altered', why: 'the file has another SHA-256' }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return mayBeGone(name) ? undefined : { fault: 'missing', why: 'the file is not there' }
  }
}

const fileHash = async (path: string): Promise<string> => {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

/** The segments that the service states to be writing. */
const openSegments = (folder: string, key: KeyObject): ReadonlySet<number | undefined> => {
  try {
    const { segments, signature } = JSON.parse(readFileSync(join(folder, OPEN_FILE), 'utf8')) as Record<string, string>
    const signed = Buffer.from(`open ${basename(folder)} ${segments}`)
    if (!verify(null, signed, key, Buffer.from(signature ?? '', 'base64'))) return new Set()
    return new Set((JSON.parse(segments ?? '[]') as { readonly started_at: number }[]).map(({ started_at }) => started_at))
  } catch {
    return new Set()
  }
}
