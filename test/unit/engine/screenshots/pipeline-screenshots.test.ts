import { describe, expect, it, onTestFinished } from 'vitest'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { KeptMemory } from '../../../../engine/screenshots/decode/decoder-keeper.ts'
import { createDecodeSlots } from '../../../../engine/screenshots/decode/slots.ts'
import { PipelineScreenshots } from '../../../../engine/screenshots/pipeline-screenshots.ts'
import type { EngineEvent } from '../../../../lib/engine/messages.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'

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
      slots: createDecodeSlots({ running: 1, waiting: 1 }),
      memory: new KeptMemory(),
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
})
