/** Type of the NAL units of an IDR picture: ITU-T H.264 table 7-1. */
const IDR = 5

/** Whether an access unit of H.264, in Annex B, is an IDR picture: other key frames only begin to refresh what was shown before. */
export const hasIdr = (data: Uint8Array): boolean => {
  for (let at = data.indexOf(1, 2); at >= 0; at = data.indexOf(1, at + 1)) {
    if (data[at - 1] === 0 && data[at - 2] === 0 && ((data[at + 1] ?? 0) & 0x1f) === IDR) return true
  }
  return false
}
