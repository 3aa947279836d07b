import * as v from 'valibot'
import { described, integerBetween } from './primitives.ts'

/** Where Cursor on Target events go. */
export interface CotAddress {
  readonly protocol: 'udp' | 'tcp'
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
}

const COT_URI = /^(udp|tcp):\/\/(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?):(\d{1,5})$/

/** Splits the address of a receiver; undefined unless it is `udp://<host>:<port>` or `tcp://<host>:<port>` with a port of 1–65535. */
export const parseCotUri = (uri: string): CotAddress | undefined => {
  const [, protocol, host = '', port] = COT_URI.exec(uri) ?? []
  if (protocol !== 'udp' && protocol !== 'tcp') return undefined
  if (Number(port) < 1 || Number(port) > 65535 || !URL.canParse(`http://${host}`)) return undefined
  return { protocol, host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

const ADVICE = 'Use udp://host:port (multicast too) or tcp://host:port, without user name, path or query; or null'

/** `settings.cot`. */
export const cotSettingsSchema = v.strictObject({
  uri: v.pipe(
    v.nullable(
      v.pipe(
        v.string(ADVICE),
        v.check((uri) => parseCotUri(uri) !== undefined, ADVICE),
      ),
    ),
    v.description('Receiver of Cursor on Target events: udp://host:port, multicast too, or tcp://host:port; null: none. Applies at once'),
  ),
  interval_ms: described(integerBetween(100, 60_000), 'Minimum time between two events of a pipeline, milliseconds; applies at once'),
})

export type CotSettings = Readonly<v.InferOutput<typeof cotSettingsSchema>>
