import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { processesWith } from './processes.ts'

/** A new empty data directory, removed (with every process that still uses it) after the test. */
export const temporaryDataDir = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-'))
  onTestFinished(() => {
    for (const pid of processesWith(`SVC_DATA_DIR=${directory}`)) process.kill(pid, 'SIGKILL')
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  })
  return directory
}
