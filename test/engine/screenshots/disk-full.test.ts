import { closeSync, openSync, writeSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { KeptMemory } from '../../../engine/screenshots/decode/decoder-keeper.ts'
import { createDecodeSlots } from '../../../engine/screenshots/decode/slots.ts'
import { PipelineScreenshots } from '../../../engine/screenshots/pipeline-screenshots.ts'
import type { EngineEvent } from '../../../lib/engine/messages.ts'
import { h264Media, silentLog, startMedia } from '../../helpers/rtsp/media.ts'
import { until } from '../../helpers/until.ts'

it('a full disk is reported once, and screenshots go on', { timeout: 90_000 }, async () => {
  const media = startMedia([h264Media(5)])
  const [stream] = media.streams
  if (stream === undefined) throw new Error('There is no stream')
  // The one device that is always full gives the error that a disk gives.
  const full = openSync('/dev/full', 'w')
  let attempts = 0
  const events: EngineEvent[] = []
  const put = async (): Promise<never> => {
    attempts += 1
    writeSync(full, 'x')
    throw new Error('not full')
  }
  const screenshots = new PipelineScreenshots({
    id: 'cam-1',
    stream,
    store: { put, trim: async () => {} },
    slots: createDecodeSlots({ running: 1, waiting: 1 }),
    memory: new KeptMemory(),
    status: () => ({ playing: true, publishes: true }),
    onChange: () => {},
    emit: (event) => events.push(event),
    now: () => Date.now(),
    log: silentLog,
  })
  onTestFinished(async () => {
    screenshots.close()
    closeSync(full)
    await media.stop()
  })
  screenshots.start({ interval_seconds: 0.05, quality: 50 }, { resume: false })
  await until(
    () => attempts,
    (made) => made >= 3,
    60_000,
  )
  expect(events).toEqual([
    {
      type: 'pipeline_error',
      id: 'cam-1',
      code: 'ENGINE_ERROR',
      cause: 'The disk is full.',
      reason: 'disk_full',
      message: expect.stringContaining('the disk is full'),
    },
  ])
})
