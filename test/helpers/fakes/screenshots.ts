import type { JpegAnswer } from '../../../lib/engine/call.ts'
import type { Engine, Screenshots } from '../../../lib/engine/protocol.ts'
import { ApiError } from '../../../lib/errors.ts'
import type { Geolocation } from '../../../lib/schema/pipeline.ts'
import { type ScreenshotFile, type ScreenshotSchedule, screenshotNotFound } from '../../../lib/schema/screenshot.ts'

/** Screenshots without media: schedules, geolocations and files are kept, a picture is a few bytes. */
export interface FakeScreenshots extends Screenshots {
  readonly schedules: Map<string, ScreenshotSchedule>
  readonly geolocations: Map<string, Geolocation | null>
  /** Newest first. */
  readonly files: ScreenshotFile[]
}

export const JPEG_BYTES = Uint8Array.of(0xff, 0xd8, 0xff, 0xd9)

const TIMES = { 'last-modified': 'Fri, 20 Nov 2026 10:00:00 GMT', 'x-created-at': '2026-11-20T10:00:00.000Z' }

export const createFakeScreenshots = (engine: Engine): FakeScreenshots => {
  const answer = (etag: string, more: Record<string, string> = {}): JpegAnswer => ({
    headers: new Headers({ etag, 'content-type': 'image/jpeg', 'content-length': String(JPEG_BYTES.length), 'x-secret': 'no', ...more }),
    body: new ReadableStream({
      pull: (controller) => {
        controller.enqueue(JPEG_BYTES)
        controller.close()
      },
    }),
  })
  const requirePlaying = async (id: string) => {
    const view = await engine.view(id)
    if (view.state !== 'playing') throw new ApiError('CONFLICT', `The pipeline ${id} is not playing.`, { reason: 'not_playing' })
    return view
  }
  const indexOf = (name: string): number => {
    const at = fake.files.findIndex(({ file }) => file === name)
    if (at === -1) throw screenshotNotFound()
    return at
  }
  const fake: FakeScreenshots = {
    schedules: new Map(),
    geolocations: new Map(),
    files: [],
    start: async (id, { geolocation, ...schedule }, { resume }) => {
      const view = resume ? await engine.view(id) : await requirePlaying(id)
      fake.schedules.set(id, schedule)
      fake.geolocations.set(id, geolocation)
      return { ...view, screenshots: { state: 'playing', ...schedule } }
    },
    stop: async (id) => {
      fake.schedules.delete(id)
      return engine.view(id)
    },
    locate: async (id, { geolocation }) => {
      await engine.view(id)
      fake.geolocations.set(id, geolocation)
    },
    snapshot: async (id, { quality, width }) => {
      await requirePlaying(id)
      return answer(`"${quality ?? 85}-${width ?? 0}"`, { 'x-age-ms': '1499', ...TIMES })
    },
    list: async ({ pipeline_id, before, limit }) =>
      fake.files
        .filter((file) => pipeline_id === undefined || file.pipeline_id === pipeline_id)
        .filter((file) => before === undefined || Date.parse(file.created_at) < before)
        .slice(0, limit),
    read: async (name) => answer(`"${indexOf(name)}"`, TIMES),
    remove: async (name) => {
      fake.files.splice(indexOf(name), 1)
    },
    removeOf: async ({ pipeline_id: id }) => {
      const kept = fake.files.filter((file) => file.pipeline_id !== id)
      return { deleted: fake.files.splice(0, fake.files.length, ...kept).length - kept.length }
    },
  }
  return fake
}
