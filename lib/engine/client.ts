import { ApiError, isErrorCode } from '../errors.ts'
import type { Engine, EngineCheck, EngineEvent, EngineStatus, LogLine } from '../ports.ts'
import type { PipelineConfig, PipelineView } from '../schema/pipeline.ts'

/** Longest wait for an answer, milliseconds. A play may take the longest start timeout, a stop the whole ladder. */
const QUICK_MS = 5000
const CHECK_MS = 30_000
const STOP_MS = 30_000
const PLAY_MS = 150_000
/** Streams of the engine carry a heartbeat at least every 5 s; three missing ones mean that it is gone. */
const SILENCE_MS = 15_000
/** Its events carry one every second: an engine that hangs is found before its readers give up. */
const EVENTS_SILENCE_MS = 5000
const MAX_EVENT_LINE = 1024 * 1024

/** Grows with every change that makes API and engine of different versions misunderstand each other. */
export const ENGINE_PROTOCOL = 1

export interface EngineAddress {
  readonly url: string
  readonly token: string
}

/** SERVICE_UNAVAILABLE: the engine does not run or does not answer. */
export const engineUnavailable = (cause?: unknown): ApiError =>
  new ApiError(
    'SERVICE_UNAVAILABLE',
    'The media engine is not available right now. Try again in a moment.',
    { reason: 'engine_unavailable' },
    { cause },
  )

export interface EngineCallerOptions {
  /** Where the engine is now; undefined while none is known. */
  readonly address: () => EngineAddress | undefined
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** Calls the engine over HTTP; each part of the engine has a client of its own on top of it. */
export interface EngineCaller {
  /** JSON in, JSON out. Throws the engine's ApiError, or SERVICE_UNAVAILABLE; after 5 s unless told otherwise. */
  call<T>(method: string, path: string, body?: unknown, timeoutMs?: number): Promise<T>
  /** The bare answer: for pictures, files and streams. Rejects when the engine cannot be reached. */
  open(method: string, path: string, body: unknown, signal: AbortSignal): Promise<Response>
}

export const createEngineCaller = (options: EngineCallerOptions): EngineCaller => {
  const send = options.fetch ?? fetch

  const open: EngineCaller['open'] = async (method, path, body, signal) => {
    const address = options.address()
    if (address === undefined) throw engineUnavailable()
    // Not as a Request: on Node the signal of one that was garbage-collected reaches its fetch no more.
    return send(new URL(path, address.url).href, {
      method,
      signal,
      headers: { authorization: `Bearer ${address.token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }
  return {
    open,
    call: async <T>(method: string, path: string, body?: unknown, timeoutMs: number = QUICK_MS): Promise<T> => {
      try {
        const response = await open(method, path, body, AbortSignal.timeout(timeoutMs))
        const answer: unknown = await response.json()
        if (response.ok) return answer as T
        throw toApiError(answer)
      } catch (error) {
        throw error instanceof ApiError ? error : engineUnavailable(error)
      }
    },
  }
}

/** The Engine port over HTTP. Every method throws the engine's ApiError, or SERVICE_UNAVAILABLE. */
export const createEngineClient = ({ call, open }: EngineCaller): Engine => {
  const pipeline = (id: string): string => `/pipelines/${encodeURIComponent(id)}`
  return {
    status: () => call<EngineStatus>('GET', '/status'),
    configure: async (settings) => {
      await call('PUT', '/settings', settings)
    },
    check: (config) => call<EngineCheck>('POST', '/check', config, CHECK_MS),
    put: (config, { create }) => call<PipelineConfig>('PUT', `${pipeline(config.id)}${create ? '?create' : ''}`, config, CHECK_MS),
    remove: async (id, { force }) => {
      await call('DELETE', `${pipeline(id)}${force ? '?force' : ''}`, undefined, STOP_MS)
    },
    play: (id, { wait }) => call<PipelineView>('POST', `${pipeline(id)}/play${wait ? '?wait' : ''}`, undefined, PLAY_MS),
    stop: (id) => call<PipelineView>('POST', `${pipeline(id)}/stop`, undefined, STOP_MS),
    view: (id) => call<PipelineView>('GET', pipeline(id)),
    list: () => call<readonly PipelineView[]>('GET', '/pipelines'),
    log: (id) => call<readonly LogLine[]>('GET', `${pipeline(id)}/log`),
    events: (signal) => followLines<EngineEvent>(open, '/events', signal, EVENTS_SILENCE_MS),
  }
}

/** The engine's error body as the ApiError it was; what is no such body means that something else answered. */
export const toApiError = (answer: unknown): ApiError => {
  const { code, message, details } = (typeof answer === 'object' && answer !== null ? answer : {}) as Record<string, unknown>
  if (!isErrorCode(code) || typeof message !== 'string' || code === 'UNAUTHORIZED' || code === 'INTERNAL_ERROR') return engineUnavailable()
  return new ApiError(code, message, typeof details === 'object' && details !== null ? { ...details } : {})
}

/** What the engine tells, one JSON object per line; throws when it falls silent, ends when the signal aborts. */
export async function* followLines<T>(
  open: EngineCaller['open'],
  path: string,
  signal: AbortSignal,
  silenceMs: number = SILENCE_MS,
): AsyncGenerator<T> {
  // One controller for both ends: a signal of AbortSignal.any() is lost to the garbage collector while a stream lasts.
  const ending = new AbortController()
  const end = (): void => ending.abort()
  signal.addEventListener('abort', end)
  let timer = setTimeout(end, silenceMs)
  try {
    const response = await open('GET', path, undefined, ending.signal)
    if (!response.ok || response.body === null) throw engineUnavailable()
    let rest = ''
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer)
      timer = setTimeout(end, silenceMs)
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > MAX_EVENT_LINE) throw engineUnavailable()
      for (const line of lines) yield JSON.parse(line) as T
    }
  } catch (error) {
    if (signal.aborted) return
    throw error instanceof ApiError ? error : engineUnavailable(error)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
    end()
  }
}
