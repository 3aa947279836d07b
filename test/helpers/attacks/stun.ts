import { createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Types of attributes (RFC 8489 section 18.3, RFC 8445 section 16.1). */
const [USERNAME, INTEGRITY, PRIORITY, USE_CANDIDATE, FINGERPRINT, CONTROLLING] = [0x06, 0x08, 0x24, 0x25, 0x8028, 0x802a]
const COOKIE = 0x2112a442
const HEADER_BYTES = 20

const attribute = (type: number, value: Buffer): Buffer => {
  const out = Buffer.alloc(4 + Math.ceil(value.length / 4) * 4)
  out.writeUInt16BE(type)
  out.writeUInt16BE(value.length, 2)
  value.copy(out, 4)
  return out
}

/** A binding request of ICE (RFC 8445 section 7.2.2), as a player sends it that nominates at once. */
export const bindingRequest = (username: string, password: string): Buffer => {
  const priority = Buffer.from([0x6e, 0x7f, 0x1e, 0xff])
  const head = Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 0, 0, 0]), randomBytes(12)])
  head.writeUInt32BE(COOKIE, 4)
  const parts = [
    head,
    attribute(USERNAME, Buffer.from(username)),
    attribute(CONTROLLING, randomBytes(8)),
    attribute(USE_CANDIDATE, Buffer.alloc(0)),
    attribute(PRIORITY, priority),
  ]
  // The length counts what is being computed, too.
  const begin = (bytesAfter: number): Buffer => {
    const message = Buffer.concat(parts)
    message.writeUInt16BE(message.length - HEADER_BYTES + bytesAfter, 2)
    return message
  }
  parts.push(attribute(INTEGRITY, createHmac('sha1', password).update(begin(24)).digest()))
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE((crc32(begin(8)) ^ 0x5354554e) >>> 0)
  parts.push(attribute(FINGERPRINT, sum))
  return begin(0)
}
