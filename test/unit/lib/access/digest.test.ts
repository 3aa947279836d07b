import { describe, expect, it } from 'vitest'
import { equalSecrets, randomToken, sha256 } from '../../../../lib/access/digest.ts'

describe('tokens and digests', () => {
  it('a token is 32 random bytes in base64url and unique', () => {
    const tokens = new Set(Array.from({ length: 1000 }, randomToken))
    expect(tokens.size).toBe(1000)
    for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
  })

  it('SHA-256 matches FIPS 180-2 appendix B.1', async () => {
    expect(Buffer.from(await sha256('abc'), 'base64url').toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })

  it('secrets are equal only when every character is', async () => {
    expect(await equalSecrets('secret', 'secret')).toBe(true)
    for (const other of ['', 'secre', 'secret ', 'Secret', 'secreu']) expect(await equalSecrets('secret', other)).toBe(false)
  })
})
