import { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Allowance, type Rate } from '../../../lib/access/allowance.ts'

/**
 * Requests that count the pieces of their bodies beyond the first. A chunk of one byte (RFC 9112 section 7.1) costs as much as one of
 * 64 KiB, and one read may have 10,000 of them. `onFlood` gets a connection that has used its allowance.
 */
export const countPieces = (rate: Rate, onFlood: (socket: Socket) => void): typeof IncomingMessage => {
  const allowances = new WeakMap<Socket, Allowance>()
  const allowanceOf = (socket: Socket, nowMs: number): Allowance => {
    const allowance = allowances.get(socket) ?? new Allowance(rate, nowMs)
    allowances.set(socket, allowance)
    return allowance
  }
  return class extends IncomingMessage {
    /** Most bodies are one piece, which costs less than the request does. */
    #begun = false
    readonly #socket: Socket

    constructor(socket: Socket) {
      super(socket)
      this.#socket = socket
    }

    override push(piece: unknown, encoding?: BufferEncoding): boolean {
      if (piece !== null && this.#begun) this.#count()
      this.#begun = true
      return super.push(piece, encoding)
    }

    #count(): void {
      const socket = this.#socket
      const nowMs = performance.now()
      if (!socket.destroyed && !allowanceOf(socket, nowMs).use(1, nowMs)) onFlood(socket)
    }
  }
}
