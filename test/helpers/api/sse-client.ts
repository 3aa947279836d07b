/** One block of an event stream. */
export interface SseBlock {
  readonly id?: string
  readonly event?: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read events of many shapes
  readonly data?: any
  readonly retry?: string
  readonly comment?: string
}

export interface SseClient {
  /** The next block; undefined when the stream has ended. */
  next(): Promise<SseBlock | undefined>
  /** The next event with this name; skips others. */
  nextOf(event: string): Promise<SseBlock>
  /** Every block until the stream ends. */
  rest(): Promise<SseBlock[]>
  /** Closes the connection. */
  leave(): Promise<void>
}

/** Reads an answer of Server-Sent Events. */
export const followSse = (response: Response): SseClient => {
  if (response.body === null) throw new Error('The answer has no body')
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async (): Promise<SseBlock | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const block = text.slice(0, end)
        text = text.slice(end + 2)
        return parse(block)
      }
      const { done, value } = await reader.read()
      if (done) return undefined
      text += value
    }
  }
  return {
    next,
    nextOf: async (event) => {
      for (let block = await next(); block !== undefined; block = await next()) if (block.event === event) return block
      throw new Error(`The stream ended before ${event}`)
    },
    rest: async () => {
      const blocks: SseBlock[] = []
      for (let block = await next(); block !== undefined; block = await next()) blocks.push(block)
      return blocks
    },
    leave: () => reader.cancel(),
  }
}

const parse = (block: string): SseBlock => {
  const fields = block.split('\n').map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [colon === 0 ? 'comment' : line.slice(0, colon), line.slice(colon + 1).trimStart()]
  })
  const { data, ...rest } = Object.fromEntries(fields)
  return data === undefined ? rest : { ...rest, data: JSON.parse(data) }
}
