import { closeSync, openSync, writeSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { DecodeSlots } from '../../../../engine/screenshots/decode/slots.ts'
import { PipelineScreenshots } from '../../../../engine/screenshots/pipeline-screenshots.ts'
import type { EngineEvent } from '../../../../lib/ports.ts'
import { h264Media, silentLog, startMedia } from '../../../helpers/rtsp/media.ts'
import { until } from '../../../helpers/until.ts'

describe('the screenshots of a pipeline', () => {
  const screenshotsOf = (
    status: { playing: boolean; publishes: boolean },
    stream = new RtpStream(),
    put: () => Promise<never> = async () => Promise.reject(new Error('unused')),
  ) => {
    const events: EngineEvent[] = []
    let changes = 0
    const screenshots = new PipelineScreenshots({
      id: 'cam-1',
      stream,
      store: { put, trim: async () => {} },
      slots: new DecodeSlots({ running: 1, waiting: 1 }),
      status: () => status,
      onChange: () => {
        changes += 1
      },
      emit: (event) => events.push(event),
      now: () => Date.now(),
      log: silentLog,
    })
    onTestFinished(() => screenshots.close())
    return { screenshots, events, changes: () => changes }
  }
  const schedule = { interval_seconds: 7, quality: 50 }
  const defaults = { interval_seconds: 10, quality: 85 }

  it('are rejected with a reason while it does not play, or has no output', async () => {
    for (const [status, reason] of [
      [{ playing: false, publishes: true }, 'not_playing'],
      [{ playing: true, publishes: false }, 'no_pay0'],
      [{ playing: false, publishes: false }, 'no_pay0'],
    ] as const) {
      const { screenshots } = screenshotsOf(status)
      expect(() => screenshots.start(schedule, { resume: false })).toThrow(
        expect.objectContaining({ code: 'CONFLICT', details: { reason } }),
      )
      await expect(screenshots.snapshot({ quality: 85, width: null })).rejects.toMatchObject({ code: 'CONFLICT', details: { reason } })
    }
  })

  it('are rejected with a reason before the first frame', async () => {
    const { screenshots } = screenshotsOf({ playing: true, publishes: true })
    await expect(screenshots.snapshot({ quality: 85, width: null })).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { reason: 'no_frame' },
    })
  })

  it('have the state playing while a schedule is set and the pipeline plays', () => {
    const status = { playing: false, publishes: true }
    const { screenshots, changes } = screenshotsOf(status)
    screenshots.start(schedule, { resume: true })
    expect(screenshots.view(defaults)).toEqual({ state: 'stopped', ...schedule })
    status.playing = true
    expect(screenshots.view(defaults)).toEqual({ state: 'playing', ...schedule })
    screenshots.stop()
    screenshots.stop()
    expect(screenshots.view(defaults)).toEqual({ state: 'stopped', ...defaults })
    expect(changes()).toBe(2)
  })

  it('report a full disk once, and continue', async () => {
    const media = startMedia([h264Media(5)])
    // /dev/full returns the error of a full disk.
    const full = openSync('/dev/full', 'w')
    onTestFinished(async () => {
      closeSync(full)
      await media.stop()
    })
    let attempts = 0
    const { screenshots, events } = screenshotsOf({ playing: true, publishes: true }, media.streams[0], async () => {
      attempts += 1
      writeSync(full, 'x')
      throw new Error('not full')
    })
    screenshots.start({ interval_seconds: 0.05, quality: 50 }, { resume: false })
    await until(
      () => attempts,
      (count) => count >= 3,
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
})
