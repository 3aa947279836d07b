import type { Screenshots } from '../engine/protocol.ts'
import { ApiError, messageOf } from '../errors.ts'
import { pause } from '../pause.ts'
import type { PipelineConfig } from '../schema/pipeline.ts'
import type { TestReport } from '../schema/representation.ts'
import type { CreateDeps } from './create.ts'
import { checkDescription, parsePipeline } from './input.ts'
import { restoreCredentials } from './restore-credentials.ts'

export interface TestDeps extends CreateDeps {
  readonly screenshots: Screenshots
}

/** How long it runs after its first key frame, milliseconds: its bitrate and its KLV are known by then. */
const RUN_MS = 1000
/** Pixels across, of the picture. */
const WIDTH = 480

/**
 * Runs a pipeline for a moment under an id of its own and says what came; nothing is stored, nothing is pushed, and nothing stays. Throws
 * as a create does. Masked credentials are those of the stored pipeline with the id.
 */
export const testPipeline = async (deps: TestDeps, input: unknown, signal: AbortSignal): Promise<TestReport> => {
  const parsed = parsePipeline(input, 'copy')
  const stored = await deps.pipelines.find(parsed.config.id)
  const config = restoreCredentials(parsed.config, stored?.config)
  const id = `test-${crypto.randomUUID()}`
  const alone: PipelineConfig = { ...config, id, on_demand: false, output: null, push: [] }
  // In turn, so that nobody takes it for a pipeline that was left behind.
  return deps.changes(id, async () => {
    const { codecs } = await checkDescription(deps.engine, alone)
    const slot = await deps.licensing.takeSlot(alone, codecs)
    try {
      return await run(deps, alone, signal)
    } catch (error) {
      throw renamed(error, id, config.id)
    } finally {
      slot.release()
    }
  })
}

const run = async (deps: TestDeps, config: PipelineConfig, signal: AbortSignal): Promise<TestReport> => {
  const { engine, log, clock } = deps
  const { id } = config
  const remove = (): Promise<void> =>
    engine.remove(id, { force: true }).catch((error: unknown) => log.warn('pipeline_not_removed', { id, error: messageOf(error) }))
  const leave = (): void => void remove()
  await engine.put(config, { create: true })
  signal.addEventListener('abort', leave)
  try {
    if (signal.aborted) throw new ApiError('SERVICE_UNAVAILABLE', 'The client has left before the end of the test.')
    const begun = clock.now()
    await engine.play(id, { wait: true })
    return await report(deps, id, Math.max(0, Math.round(clock.now() - begun)), signal)
  } finally {
    signal.removeEventListener('abort', leave)
    if (!signal.aborted) await remove()
  }
}

const report = async ({ engine, screenshots }: TestDeps, id: string, start_ms: number, signal: AbortSignal): Promise<TestReport> => {
  const [picture] = await Promise.all([pictureOf(screenshots, id), pause(RUN_MS, signal)])
  const { runtime, klv } = await engine.view(id)
  const { video, audio, fps, bitrate_kbps } = runtime
  return { start_ms, video: video && { ...video, fps: video.fps ?? fps }, audio, bitrate_kbps, klv: klv.available, picture }
}

/** JPEG as base64; null where it cannot be decoded. */
const pictureOf = async (screenshots: Screenshots, id: string): Promise<string | null> => {
  try {
    const { body } = await screenshots.snapshot(id, { quality: 70, width: WIDTH })
    return base64(new Uint8Array(await new Response(body).arrayBuffer()))
  } catch {
    return null
  }
}

const PIECE = 8192

const base64 = (bytes: Uint8Array): string => {
  const pieces = Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, at) => bytes.subarray(at * PIECE, (at + 1) * PIECE))
  return btoa(pieces.map((piece) => String.fromCharCode(...piece)).join(''))
}

/** The error with the id of the request, not with that of the test. */
const renamed = (error: unknown, own: string, id: string): unknown =>
  error instanceof ApiError ? new ApiError(error.code, error.message.replaceAll(own, id), error.details, { cause: error }) : error
