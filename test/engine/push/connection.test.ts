import { chmodSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { runConnection } from '../../../engine/push/connection.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'

const path = process.env.PATH ?? ''

beforeEach(() => {
  const folder = temporaryDataDir()
  process.env.PATH = `${folder}${delimiter}${path}`
  const program = join(folder, 'gst-launch-1.0')
  writeFileSync(
    program,
    `#!/bin/sh
echo 'ERROR: from element /GstPipeline:pipeline0/GstRTSPClientSink:out: Could not open resource for reading and writing.' >&2
echo "ERROR: pipeline doesn't want to preroll." >&2
echo 'Setting pipeline to PLAYING ...'
exec sleep 600`,
  )
  chmodSync(program, 0o755)
})

afterEach(() => {
  process.env.PATH = path
})

it('a push ends with the error of its sink also when gst-launch-1.0 goes on after it', async () => {
  const end = await runConnection({
    line: { args: [], reach: {}, listens: false, tls: false, catchUp: true, klv: true, faults: [] },
    openFeed: () => ({ stuckSinceMs: undefined, bytes: 0, close: () => {} }),
    signal: AbortSignal.timeout(9000),
    log: () => {},
    onStart: () => {},
    onSending: () => {},
  })
  expect(end).toMatchObject({ reason: 'unreachable', message: expect.stringContaining('cannot be reached') })
})
