import { url as debuggerUrl } from 'node:inspector'
import { Worker } from 'node:worker_threads'

/** The longest legitimate stop of the event loop is a statement that waits 5 s for a lock of the database. */
const HANGS_AFTER_MS = 20_000
/** Rare, so that an idle process is not woken often. */
const BEAT_MS = 5000
const RESOURCES = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 } as const

/**
 * Kills this process when its event loop stands still for 20 s, so that its supervisor starts another; the children of an engine die
 * with it. For an engine or an API that runs by itself: the API process replaces its own engine. A process that a debugger has stopped
 * is not killed. systemd's watchdog needs a datagram socket (sd_notify(3)), which Node.js does not have, and does not exist in
 * containers.
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
 * Runs in a thread of its own and counts its own beats, so that a suspended host or a stopped process is not taken for one that hangs.
 * The line is written asynchronously, by another thread: the process may hang because its log accepts nothing.
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
