/** A NAL unit of an access unit. Its bytes are the pieces one after the other: views of RTP packets, read-only. */
export interface Nal {
  /** nal_unit_type. */
  readonly type: number
  readonly pieces: readonly Uint8Array[]
}

/** Start code of annex B of H.264 and H.265. */
export const START_CODE: Uint8Array = Uint8Array.of(0, 0, 0, 1)

export const nalBytes = ({ pieces }: Nal): Uint8Array => (pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces))

/** Each NAL unit after a start code: pieces that follow one another. */
export const annexB = (nals: readonly Nal[]): readonly Uint8Array[] => nals.flatMap((nal) => [START_CODE, ...nal.pieces])

/** The same in one buffer, with room for a header of `headroom` bytes before them. */
export const joinAnnexB = (nals: readonly Nal[], headroom: number): Buffer => {
  const pieces = annexB(nals)
  const joined = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + piece.length, headroom))
  let offset = headroom
  for (const piece of pieces) {
    joined.set(piece, offset)
    offset += piece.length
  }
  return joined
}
