import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { killProcess, processesWith } from './processes.ts'

/** A new empty data directory; after the test it is removed, and processes that still use it are killed. */
export const temporaryDataDir = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-'))
  onTestFinished(() => {
    for (const pid of processesWith(`SVC_DATA_DIR=${directory}`)) killProcess(pid)
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  })
  return directory
}
