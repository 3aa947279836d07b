import { klvPacketJson } from '../../../../lib/st0601/json.ts'
import { KlvStreamParser } from '../../../../lib/st0601/stream-parser.ts'
import { serviceClock } from '../api/now.ts'
import type { KlvPacket } from '../api/types.ts'

/** A packet as the API has it; undefined when it is not ST 0601, or damaged. */
export const decodeKlv = (pipelineId: string, bytes: Uint8Array): KlvPacket | undefined => {
  const packet = new KlvStreamParser().push(bytes).at(-1)
  const now = serviceClock.now()
  return packet && (klvPacketJson(packet, { pipelineId, receivedAt: now, now }) as KlvPacket)
}
