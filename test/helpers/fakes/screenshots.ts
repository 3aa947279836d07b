import { ApiError } from '../../../lib/errors.ts'
import type { Engine, JpegAnswer, Screenshots } from '../../../lib/ports.ts'
import type { Geolocation } from '../../../lib/schema/pipeline.ts'
import type { ScreenshotFile, ScreenshotSchedule } from '../../../lib/schema/screenshot.ts'

/** Pictures without media: wishes, places and files are kept, a picture is a few bytes. */
export interface FakeScreenshots extends Screenshots {
  readonly wishes: Map<string, ScreenshotSchedule>
  readonly places: Map<string, Geolocation | null>
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
    if (at === -1) throw new ApiError('NOT_FOUND', 'There is no such screenshot.')
    return at
  }
  const fake: FakeScreenshots = {
    wishes: new Map(),
    places: new Map(),
    files: [],
    start: async (id, { geolocation, ...wish }, { resume }) => {
      const view = resume ? await engine.view(id) : await requirePlaying(id)
      fake.wishes.set(id, wish)
      fake.places.set(id, geolocation)
      return { ...view, screenshots: { state: 'playing', ...wish } }
    },
    stop: async (id) => {
      fake.wishes.delete(id)
      return engine.view(id)
    },
    locate: async (id, geolocation) => {
      fake.places.set(id, geolocation)
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
    removeOf: async (id) => {
      const kept = fake.files.filter((file) => file.pipeline_id !== id)
      return fake.files.splice(0, fake.files.length, ...kept).length - kept.length
    },
  }
  return fake
}
