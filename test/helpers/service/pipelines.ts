import { expect, onTestFinished } from 'vitest'
import type { Service } from '../process/service.ts'
import { openReader, type RtspReader } from '../rtsp/reader.ts'
import { type RtspSource, startRtspSource } from '../rtsp/source.ts'
import { until } from '../until.ts'

/** The built-in source as the tests use it: cheap to encode, a key frame each second. */
export const BALL = { uri: 'test://ball?width=320&height=240&fps=30' }

/** The address of an output, as a reader on this host opens it. */
export const outputOf = ({ output }: { readonly output: { readonly uri: string } }): string => output.uri.replace('0.0.0.0', '127.0.0.1')

export const portOf = (url: string): number => Number(new URL(url.replace(/^\w+:/, 'http:')).port)

/**
 * Creates a pipeline of BALL, or of what `more` says, and expects that it plays, or is ready when it is on demand.
 * Answers the address of its output; empty when it has none.
 */
export const createPipeline = async (service: Service, id: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> => {
  const what = 'raw_pipeline' in more ? { mode: 'advanced' } : { mode: 'simple', source: BALL }
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, ...what, ...more })
  const state = more.on_demand === true ? 'ready' : 'playing'
  expect({ status, message: body.message, state: body.state }).toEqual({ status: 201, message: undefined, state })
  return body.output === undefined ? '' : outputOf(body)
}

export const viewOf = async (service: Service, id: string) => (await service.request('GET', `/svc/pipeline/${id}`)).body

/** Waits until the view of a pipeline satisfies the condition; answers it. */
export const untilView = (
  service: Service,
  id: string,
  holds: (view: Awaited<ReturnType<typeof viewOf>>) => boolean,
  patienceMs?: number,
) => until(() => viewOf(service, id), holds, patienceMs)

export const untilPhase = (service: Service, id: string, phase: string) => untilView(service, id, ({ runtime }) => runtime.phase === phase)

export const untilReaders = (service: Service, id: string, count: number, patienceMs?: number) =>
  untilView(service, id, ({ runtime }) => runtime.readers === count, patienceMs)

/** Sends a command to a pipeline: `play`, `stop`, `klv/start` … */
export const command = (service: Service, id: string, name: string, body?: object) =>
  service.request('PUT', `/svc/pipeline/${id}/${name}`, body)

export const changeSettings = async (service: Service, settings: Readonly<Record<string, unknown>>) => {
  const { status, body } = await service.request('PUT', '/svc/settings', settings)
  expect({ status, message: body.message }).toEqual({ status: 200, message: undefined })
  return body
}

/** Opens a reader, which is closed at the end of the test. */
export const read = async (...args: Parameters<typeof openReader>): Promise<RtspReader> => {
  const reader = await openReader(...args)
  onTestFinished(() => reader.close())
  return reader
}

/** Starts the third-party RTSP source, which stops at the end of the test; `args` are those of the fixture. */
export const openSource = async (...args: readonly string[]): Promise<RtspSource> => {
  const source = await startRtspSource(args)
  onTestFinished(() => source.stop())
  return source
}
