import { chmodSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { runChildConnection } from '../../../engine/push/child-connection.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'

const path = process.env.PATH ?? ''

beforeEach(() => {
  const folder = temporaryDataDir()
  process.env.PATH = `${folder}${delimiter}${path}`
  const program = join(folder, 'gst-launch-1.0')
  writeFileSync(
    program,
    `#!/bin/sh
echo 'ERROR: from element /GstPipeline:pipeline0/GstRtmp2Sink:rtmp2sink0: Could not open resource for reading and writing.' >&2
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
  const end = await runChildConnection({
    line: { args: [], reach: {}, listens: false, tls: false, catchUp: true, klv: true, sound: true, faults: [] },
    openFeed: () => ({ stuckSinceMs: undefined, bytes: 0, close: () => {} }),
    signal: AbortSignal.timeout(9000),
    log: () => {},
    onStart: () => {},
    onSending: () => {},
  })
  expect(end).toMatchObject({ reason: 'unreachable', message: expect.stringContaining('cannot be reached') })
})
