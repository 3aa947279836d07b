import type { Engine } from '../ports.ts'

/**
 * Those who ask for the same thing while an answer is on its way share the next one. So nobody gets an
 * answer from before the question, and however many ask, at most one question is on its way.
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

/** The engine, asked once for what many clients read at the same time. */
export const withSharedReads = (engine: Engine): Engine => {
  const list = shareReads(() => engine.list())
  return { ...engine, view: shareReads((id) => engine.view(id)), list: () => list('') }
}
