/** A device as gst-device-monitor-1.0 prints it; names and values are not interpreted. */
export interface ListedDevice {
  readonly name: string
  /** One line per caps structure. */
  readonly caps: readonly string[]
  readonly properties: ReadonlyMap<string, string>
}

export type MonitorEvent =
  /** The providers run: every later change is reported. */
  | { readonly type: 'started' }
  | { readonly type: 'added'; readonly device: ListedDevice }
  /** Of a removed device the monitor prints only the name (tools/gst-device-monitor.c, device_removed). */
  | { readonly type: 'removed'; readonly name: string }

interface MonitorParser {
  /** Parses the next chunk of stdout, which may end anywhere; returns the events it completes. */
  push(text: string): readonly MonitorEvent[]
}

const MAX_LINE_LENGTH = 16 * 1024
const MAX_CAPS = 2048
const MAX_PROPERTIES = 256
const MAX_TEXT = 512

const HEADER = /^Device (found|added|modified|changed|removed):/
const FIELD = /^\t(name|class|caps) *: (.*)$/
const MORE_CAPS = /^\t {2,}(\S.*)$/
const PROPERTY = /^\t\t([^\s=]+) = (.*)$/
const LAUNCH_LINE = /^\tgst-launch-1\.0 /

interface Block {
  readonly kind: 'added' | 'removed'
  name: string | undefined
  readonly caps: string[]
  readonly properties: Map<string, string>
}

// USB descriptors may contain any character; control characters would affect terminals and logs.
const printable = (text: string): string =>
  text
    .replace(/\p{Cc}/gu, '')
    .trim()
    .slice(0, MAX_TEXT)

const readField = (block: Block, line: string): void => {
  const [, field, value = ''] = FIELD.exec(line) ?? []
  if (field === 'name') block.name ??= printable(value)
  const caps = field === 'caps' ? value : block.caps.length > 0 && block.properties.size === 0 ? MORE_CAPS.exec(line)?.[1] : undefined
  if (caps !== undefined && block.caps.length < MAX_CAPS) block.caps.push(caps.trim())
  const [, key, property = ''] = PROPERTY.exec(line) ?? []
  if (key !== undefined && block.properties.size < MAX_PROPERTIES) block.properties.set(key, printable(property))
}

/** Parses the output of gst-device-monitor-1.0 as a stream. Truncated devices are not reported; no input makes it throw or use unbounded memory. */
export const createMonitorParser = (): MonitorParser => {
  let rest = ''
  let block: Block | undefined

  const finish = (events: MonitorEvent[]): void => {
    if (block?.kind === 'added' && block.name !== undefined) {
      events.push({ type: 'added', device: { name: block.name, caps: block.caps, properties: block.properties } })
    }
    block = undefined
  }

  const readLine = (line: string, events: MonitorEvent[]): void => {
    const header = HEADER.exec(line)
    if (header !== null) {
      finish(events)
      block = { kind: header[1] === 'removed' ? 'removed' : 'added', name: undefined, caps: [], properties: new Map() }
    } else if (line.startsWith('Monitoring devices')) {
      events.push({ type: 'started' })
    } else if (block !== undefined) {
      readInBlock(block, line, events)
    }
  }

  const readInBlock = (open: Block, line: string, events: MonitorEvent[]): void => {
    // A device without a launch line ends with the blank line after its properties.
    const ends = LAUNCH_LINE.test(line) || (line.trim() === '' && open.name !== undefined)
    if (ends) {
      finish(events)
      return
    }
    readField(open, line)
    if (open.kind === 'removed' && open.name !== undefined) {
      events.push({ type: 'removed', name: open.name })
      block = undefined
    }
  }

  return {
    push(text) {
      const events: MonitorEvent[] = []
      const lines = (rest + text).split('\n')
      // The rest of an overlong line is dropped.
      rest = (lines.pop() ?? '').slice(0, MAX_LINE_LENGTH)
      for (const line of lines) readLine(line.slice(0, MAX_LINE_LENGTH).replace(/\r$/, ''), events)
      return events
    },
  }
}
