export interface ServerEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** Most characters of an event that has not ended yet. */
const MAX_PENDING = 4 * 1024 * 1024

/** Splits text into Server-Sent Events (WHATWG HTML section 9.2.6). Answers a function that takes the next piece of the stream. */
export const createEventParser = (onEvent: (event: ServerEvent) => void): ((text: string) => void) => {
  let rest = ''
  let id = ''
  let event = ''
  let data: string[] = []
  const onLine = (line: string): void => {
    if (line === '') {
      if (data.length > 0) onEvent({ id, event: event || 'message', data: data.join('\n') })
      event = ''
      data = []
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id') id = value
  }
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    if (rest.length > MAX_PENDING) throw new Error('An event of the service is too long')
    for (const line of lines) onLine(line)
  }
}
