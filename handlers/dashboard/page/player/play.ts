import { pause } from '../../../../lib/pause.ts'
import { ApiError, api, reasonOf } from '../api/api.ts'
import { chunksOf, untilVisible, whenHidden } from '../api/follow.ts'
import { createRecordReader } from '../screens/records.ts'
import { triesWebRtc } from '../screens/ways.ts'
import { createInStep } from '../sound/in-step.ts'
import type { Sound } from '../sound/sound.ts'
import { playByWebRtc } from './play-web-rtc.ts'
import { createStage, type Excluded, PicturesOnly, type StageOptions } from './stage.ts'

export interface PlayOptions extends StageOptions {
  readonly id: string
  readonly onSource: (isThere: boolean) => void
  /** Plays the sound; undefined: without. */
  readonly sound?: Sound | undefined
  /** Takes the KLV of each frame before the frame; undefined: without. */
  readonly onKlv?: ((timestamp: number, packet: Uint8Array) => void) | undefined
  readonly signal: AbortSignal
}

const FIRST_DELAY_MS = 300
const MAX_DELAY_MS = 3000
const PICTURE_MS = 1000
/** Without a frame for longer the connection counts as lost: a network may drop it without notice. */
const SILENCE_MS = 12_000
/** The same while the source is away, which the service repeats every 30 s, and until an on-demand pipeline has started. */
const WAITING_MS = 75_000

/** Plays the video of a pipeline until the signal aborts, over losses of source and service, in the best way that works. */
export const play = async (options: PlayOptions): Promise<void> => {
  const excluded: Excluded = new Map()
  const { signal } = options
  let delay = FIRST_DELAY_MS
  window.hasBegunToPlay = true
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    await untilVisible(signal)
    try {
      if (!isFirst) await refuseStopped(options)
      await playBest(options, excluded, () => {
        delay = FIRST_DELAY_MS
      })
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof PicturesOnly) {
        options.onChoice({ way: 'pictures', why: error.message })
        await showPictures(options)
        return
      }
      options.onFault(faultText(error))
    }
    await pause(document.hidden ? 0 : delay, signal)
    delay = Math.min(delay * 2, MAX_DELAY_MS)
  }
}

/** The pipeline has been stopped. */
class NotPlaying extends Error {}

/** Nothing has come for too long. */
class Silent extends Error {}

const STOPPED = 'The pipeline does not play.'

const faultText = (error: unknown): string => {
  if (error instanceof NotPlaying) return STOPPED
  if (error instanceof Silent) return 'No new picture comes. Trying again…'
  if (!(error instanceof ApiError)) return 'No connection to the service. Trying again…'
  if (reasonOf(error) === 'not_playing') return STOPPED
  if (reasonOf(error) === 'no_pay0') return 'This pipeline has no video output: its description names no element pay0.'
  return error.message
}

/** Reading the video of an on-demand pipeline starts it: one that has been stopped in the meantime must stay stopped. */
const refuseStopped = async ({ id, signal }: PlayOptions): Promise<void> => {
  const { state, runtime } = await api.getPipeline({ id, signal })
  if (state === 'ready' && runtime.phase !== 'starting') throw new NotPlaying()
}

const playBest = async (options: PlayOptions, excluded: Excluded, onData: () => void): Promise<void> => {
  if (!triesWebRtc() || excluded.has('webrtc')) return playOnce(options, excluded, onData)
  return playByWebRtc(options, excluded, onData)
}

const playOnce = async (options: PlayOptions, excluded: Excluded, onData: () => void): Promise<void> => {
  const { signal } = options
  const attempt = new AbortController()
  const end = (): void => attempt.abort()
  signal.addEventListener('abort', end)
  const stopWatching = whenHidden(end)
  const stage = createStage(
    { ...options, onPicture: (ms, at) => options.onPicture(ms === null ? null : ms + inStep.heldMs(), at) },
    excluded,
    end,
  )
  const inStep = createInStep(options.sound, stage.show)
  let isThere = true
  let timer: ReturnType<typeof setTimeout> | undefined
  const listen = (ms: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => attempt.abort(new Silent()), ms)
  }
  try {
    listen(WAITING_MS)
    const { sound, onKlv } = options
    const response = await openVideo(options, attempt.signal)
    const read = createRecordReader({
      onConfig: stage.configure,
      onChunk: inStep.show,
      onSoundConfig: sound?.configure,
      onSound: sound?.play,
      onKlv,
      onSource: (type) => {
        isThere = type === 'source_back'
        if (isThere) sound?.reset()
        inStep.reset()
        options.onSource(isThere)
      },
    })
    for await (const piece of chunksOf(response)) {
      onData()
      read(piece)
      listen(isThere ? SILENCE_MS : WAITING_MS)
    }
  } catch (error) {
    // A way that failed, or a hidden tab, ends the attempt and not the play.
    if (!attempt.signal.aborted) throw error
    if (attempt.signal.reason instanceof Silent) throw attempt.signal.reason
  } finally {
    clearTimeout(timer)
    stopWatching()
    signal.removeEventListener('abort', end)
    attempt.abort()
    inStep.close()
    stage.close()
  }
  stage.throwIfPicturesOnly()
}

const openVideo = async ({ id, sound, onKlv }: PlayOptions, signal: AbortSignal): Promise<Response> => {
  try {
    return await api.getVideo({ id, ...(sound !== undefined && { audio: '1' }), ...(onKlv !== undefined && { klv: '1' }), signal })
  } catch (error) {
    if (reasonOf(error) === 'codec') throw new PicturesOnly('the video is neither H.264 nor H.265')
    throw error
  }
}

/** Shows a new picture each second. */
const showPictures = async ({ id, surfaces: { image }, signal, onPicture, onFault }: PlayOptions): Promise<void> => {
  while (!signal.aborted) {
    await untilVisible(signal)
    const began = performance.now()
    try {
      const answer = await api.getSnapshot({ id, signal })
      const url = URL.createObjectURL(await answer.blob())
      image.src = url
      await image.decode()
      URL.revokeObjectURL(url)
      onFault(undefined)
      onPicture(Number(answer.headers.get('x-age-ms')) + performance.now() - began, null)
    } catch (error) {
      if (!signal.aborted) onFault(faultText(error))
    }
    await pause(Math.max(0, PICTURE_MS - (performance.now() - began)), signal)
  }
}
