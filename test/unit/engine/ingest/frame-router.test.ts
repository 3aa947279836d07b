import { expect, it } from 'vitest'
import { FloodGuard } from '../../../../engine/ingest/flood-guard.ts'
import { FrameRouter } from '../../../../engine/ingest/frame-router.ts'

const MB = 1024 * 1024

it('holds early frames no longer when too much was read beside them', () => {
  const router = new FrameRouter(new FloodGuard([]))
  router.noteRead(100 * MB)
  router.take(0, Buffer.alloc(12))
  router.noteRead(32 * MB)
  expect(router.holds).toBe(true)
  router.noteRead(1)
  expect(router.holds).toBe(false)
})
