/** A device as gst-device-monitor-1.0 prints it: names and values as they came, nothing interpreted. */
export interface ListedDevice {
  readonly name: string
  /** One line per caps structure. */
  readonly caps: readonly string[]
  readonly properties: ReadonlyMap<string, string>
}

export type MonitorEvent =
  /** The providers run: every later change will be told. */
  | { readonly type: 'started' }
  | { readonly type: 'added'; readonly device: ListedDevice }
  /** The monitor tells only the name of what went away (tools/gst-device-monitor.c, device_removed). */
  | { readonly type: 'removed'; readonly name: string }

export interface MonitorParser {
  /** Takes the next piece of stdout, cut anywhere, and answers what it completes. */
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

// A USB descriptor may hold any character; what a terminal or a log would obey is not part of a name.
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

/** Reads the output of gst-device-monitor-1.0 as it comes. A device that is cut off is not told; no input makes it throw or grow. */
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
    // An element that cannot be made prints no launch line: then the blank line behind the properties is the end.
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
      // What stands behind the bound of a line is let go; the line keeps its meaning.
      rest = (lines.pop() ?? '').slice(0, MAX_LINE_LENGTH)
      for (const line of lines) readLine(line.slice(0, MAX_LINE_LENGTH).replace(/\r$/, ''), events)
      return events
    },
  }
}
