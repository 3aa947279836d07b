import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { ENGINE_TOKEN, startEngine } from '../../helpers/process/engine-process.ts'
import { type ContractEngine, engineContract } from './contract.ts'

const WEBCAM = new URL('../../fixtures/cameras/uvc-webcam.txt', import.meta.url).pathname

/** Makes gst-device-monitor-1.0 of this folder list one webcam. */
const writeMonitor = (folder: string): void => {
  const program = join(folder, 'gst-device-monitor-1.0')
  writeFileSync(program, `#!/bin/sh\ncat ${WEBCAM}\nif [ "$1" = -f ]; then exec sleep 600; fi\n`)
  chmodSync(program, 0o755)
}

const start = async (): Promise<ContractEngine> => {
  const folder = mkdtempSync(join(tmpdir(), 'contract-'))
  writeMonitor(folder)
  const engine = await startEngine({ dataDir: join(folder, 'data'), env: { PATH: `${folder}:${process.env.PATH}` } })
  return {
    url: engine.url,
    token: ENGINE_TOKEN,
    close: async () => {
      await engine.kill()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

describe('the engine process', () => engineContract(start))
