import type { JpegAnswer } from './call.ts'
import { engineUnavailable } from './caller.ts'
import type { Engine, Screenshots } from './protocol.ts'

/**
 * Calls for the same key while an answer is on its way share the next one. So no caller gets an answer that is older
 * than its call, and there is at most one request on its way.
 */
export const shareReads = <T>(read: (key: string) => Promise<T>): ((key: string) => Promise<T>) => {
  const flights = new Map<string, { current: Promise<unknown>; next: Promise<T> | undefined }>()
  const depart = (key: string): Promise<T> => {
    const answer = read(key)
    const flight = { current: answer.catch(() => undefined), next: undefined }
    flights.set(key, flight)
    void flight.current.then(() => {
      if (flights.get(key) === flight && flight.next === undefined) flights.delete(key)
    })
    return answer
  }
  return (key) => {
    const flight = flights.get(key)
    if (flight === undefined) return depart(key)
    flight.next ??= flight.current.then(() => depart(key))
    return flight.next
  }
}

/** One request for what many clients read at the same time. */
export const withSharedReads = (engine: Engine): Engine => {
  const list = shareReads(() => engine.list())
  const listRunning = shareReads(() => engine.listRunning())
  return { ...engine, view: shareReads((id) => engine.view(id)), list: () => list(''), listRunning: () => listRunning('') }
}

/** Calls at the same time get the same bytes: one request, and the picture is in memory once. */
export const withSharedSnapshots = (screenshots: Screenshots): Screenshots => {
  const snapshot = shareReads(async (key): Promise<JpegAnswer> => {
    const { headers, body } = await screenshots.snapshot(...(JSON.parse(key) as Parameters<Screenshots['snapshot']>))
    return { headers, body: await bytesOf(body) }
  })
  return { ...screenshots, snapshot: (...args) => snapshot(JSON.stringify(args)) }
}

const bytesOf = async (body: JpegAnswer['body']): Promise<Uint8Array<ArrayBuffer>> => {
  try {
    return new Uint8Array(await new Response(body).arrayBuffer())
  } catch (error) {
    throw engineUnavailable(error)
  }
}
