/** Samples of a frame at 48 kHz, by the configuration in the first byte of a packet (RFC 6716 section 3.1). */
const frameSamples = (config: number): number => {
  if (config < 12) return [480, 960, 1920, 2880][config & 3] ?? 960
  if (config < 16) return [480, 960][config & 1] ?? 480
  return [120, 240, 480, 960][config & 3] ?? 960
}

/** Samples of a packet at 48 kHz; 0 when it is malformed. */
export const opusSamples = (packet: Uint8Array): number => {
  const [toc, count = 0] = packet
  if (toc === undefined) return 0
  const frames = [1, 2, 2, count & 0x3f][toc & 3] ?? 0
  return frames * frameSamples(toc >> 3)
}

export const opusChannels = ([toc = 0]: Uint8Array): 1 | 2 => ((toc & 4) === 0 ? 1 : 2)
