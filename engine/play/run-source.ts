import type { Fault } from '../faults/fault.ts'
import { type OpenSource, readSource } from '../ingest/read-source.ts'
import { openSound } from './sound-encoder.ts'
import { type MissingMedia, missingMediaFault, type RunContext, startWatchdog } from './watchdog.ts'

/** A source that the engine reads itself, until its session is closed. */
export interface SourceRun extends RunContext {
  readonly source: OpenSource
}

/** Reads a source until it ends or is stopped. Resolves to the fault that ended it, or undefined when the signal did. */
export const runSource = async (run: SourceRun): Promise<Fault | undefined> => {
  const { source, streams, signal, logRing, number } = run
  const stopped = new AbortController()
  let missing: MissingMedia | undefined
  const watchdog = startWatchdog(run, true, (why) => {
    missing = why
    stopped.abort()
  })
  const log = (line: string): void => logRing.add(number, 'engine', line)
  const sound = openSound(run, source.tracks.sound?.encoding)
  const sinks = [streams[0], streams[1], sound.sink]
  try {
    const fault = await readSource(source, { sinks, signal: AbortSignal.any([signal, stopped.signal]), log })
    return signal.aborted || missing === undefined ? fault : missingMediaFault(missing, run)
  } finally {
    watchdog.close()
    await sound.close()
  }
}
