// Loaded into a server with --import: at SIGUSR2 it begins to measure, and at the next one it writes the longest time that
// its event loop did not come round, in milliseconds, to the file of LOOP_BLOCK_FILE and its pid.
import { writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const delay = monitorEventLoopDelay({ resolution: 1 })
let measuring = false
process.on('SIGUSR2', () => {
  if (measuring) {
    delay.disable()
    writeFileSync(`${process.env.LOOP_BLOCK_FILE}.${process.pid}`, String(delay.max / 1e6))
  } else {
    delay.reset()
    delay.enable()
  }
  measuring = !measuring
})
