import { describe, expect, it } from 'vitest'
import { parseAddress } from '../../../../engine/faults/address.ts'
import { parseTestSource } from '../../../../engine/sources/test-source.ts'

describe('parseTestSource', () => {
  it('has defaults', () => {
    expect(parseTestSource(parseAddress('test://smpte'))).toEqual({ pattern: 'smpte', width: 640, height: 360, fps: 30, klv: false })
  })

  it.each([
    'test://other',
    'test://ball?width=15',
    'test://ball?width=641',
    'test://ball?fps=0',
    'test://ball?fps=1e2',
    'test://ball?height=99999',
    'test://ball?klv=2',
    'test://ball?nice=1',
  ])('rejects %s', (uri) => {
    expect(() => parseTestSource(parseAddress(uri))).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }))
  })
})
