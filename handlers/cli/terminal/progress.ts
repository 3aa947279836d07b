import { printable } from '../../../lib/log/printable.ts'
import { LiveLines } from './live-lines.ts'
import type { Terminal } from './terminal.ts'

const FRAMES = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏']
const FRAME_MS = 100
/** Names in the line. */
const MAX_NAMED = 3

/** The running actions, in one line below the output. Only on a terminal. */
export class Progress {
  readonly #terminal: Terminal
  readonly #lines: LiveLines
  readonly #began = performance.now()
  readonly #active = new Map<string, string>()
  readonly #timer: ReturnType<typeof setInterval> | undefined
  #frame = 0

  constructor(terminal: Terminal, stream: NodeJS.WriteStream) {
    this.#terminal = terminal
    this.#lines = new LiveLines(stream)
    if (!terminal.isInteractive) return
    this.#timer = setInterval(() => this.#draw(), FRAME_MS)
    this.#timer.unref()
  }

  /** Shows an action, such as `starting`, while the work runs. */
  async during<T>(id: string, action: string, work: () => Promise<T>): Promise<T> {
    this.show(id, action)
    try {
      return await work()
    } finally {
      this.hide(id)
    }
  }

  show(id: string, action: string): void {
    this.#active.set(id, action)
  }

  hide(id: string): void {
    this.#active.delete(id)
  }

  /** Prints a line above the progress. */
  print(line: string): void {
    if (this.#timer !== undefined) this.#lines.clear()
    this.#terminal.print(line)
  }

  close(): void {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#lines.clear()
  }

  #draw(): void {
    if (this.#active.size === 0) return
    const { paint, columns } = this.#terminal
    const named = [...this.#active].slice(0, MAX_NAMED).map(([id, action]) => `${printable(id)} ${action}`)
    const more = this.#active.size - named.length
    const seconds = ((performance.now() - this.#began) / 1000).toFixed(1)
    const text = `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''} … ${seconds} s`
    const sign = FRAMES[this.#frame++ % FRAMES.length] ?? ''
    this.#lines.draw([`${paint.cyan(sign)} ${paint.dim([...text].slice(0, columns - 3).join(''))}`])
  }
}
