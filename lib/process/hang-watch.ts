import { url as debuggerUrl } from 'node:inspector'
import { Worker } from 'node:worker_threads'

/** Nothing that engine or API do keeps their thread for long; a statement waits 5 s for a lock of the database. */
const HANGS_AFTER_MS = 20_000
/** A process in which nothing happens has to sleep well. */
const BEAT_MS = 5000
/** The thread that watches needs little. */
const RESOURCES = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 } as const

/**
 * Kills this process when its event loop stands still for 20 s, so that whatever has started it starts another; the children of an
 * engine die with it. For an engine or an API that runs by itself: the API process replaces its own engine. A debugger may stop the
 * process for as long as it likes. systemd's own watchdog wants a datagram socket (sd_notify(3)), which Node.js does not have, and
 * would not help in a container.
 */
export const endWhenHanging = (name: 'api' | 'engine'): void => {
  const beats = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))
  setInterval(() => {
    Atomics.add(beats, 0, 1)
    Atomics.store(beats, 1, debuggerUrl() === undefined ? 0 : 1)
  }, BEAT_MS).unref()
  new Worker(WATCH, {
    eval: true,
    workerData: { name, beats, beatMs: BEAT_MS, most: HANGS_AFTER_MS / BEAT_MS },
    resourceLimits: RESOURCES,
  }).unref()
}

/**
 * Runs in a thread of its own. It counts its own beats: a host that slept, or a process that was stopped as a whole, does not hang. The
 * line is written by yet another thread, since a log that takes nothing may be what the process hangs at.
 */
const WATCH = `
  const { write } = require('node:fs')
  const { workerData: { name, beats, beatMs, most } } = require('node:worker_threads')
  let last = 0
  let missed = 0
  setInterval(() => {
    const now = Atomics.load(beats, 0)
    missed = now === last ? missed + 1 : 0
    last = now
    if (missed !== most || Atomics.load(beats, 1) === 1) return
    const time = new Date().toISOString()
    const line = { time, level: 'error', event: name + '_hangs', process: name, pid: process.pid, after_ms: most * beatMs }
    write(2, JSON.stringify(line) + '\\n', () => {})
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 200)
  }, beatMs)
`
