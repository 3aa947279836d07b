/**
 * Calls with the same arguments while an answer is on its way share the next one. So no caller gets an answer that is older
 * than its call, and there is at most one request on its way.
 */
export const shareReads = <Args extends readonly unknown[], T>(read: (...args: Args) => Promise<T>): ((...args: Args) => Promise<T>) => {
  const flights = new Map<string, { current: Promise<unknown>; next: Promise<T> | undefined }>()
  const depart = (key: string, args: Args): Promise<T> => {
    const answer = read(...args)
    const flight = { current: answer.catch(() => undefined), next: undefined }
    flights.set(key, flight)
    void flight.current.then(() => {
      if (flights.get(key) === flight && flight.next === undefined) flights.delete(key)
    })
    return answer
  }
  return (...args) => {
    const key = JSON.stringify(args)
    const flight = flights.get(key)
    if (flight === undefined) return depart(key, args)
    flight.next ??= flight.current.then(() => depart(key, args))
    return flight.next
  }
}
