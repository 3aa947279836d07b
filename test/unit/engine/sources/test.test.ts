import { describe, expect, it } from 'vitest'
import { parseAddress } from '../../../../engine/faults/address.ts'
import { test } from '../../../../engine/sources/test.ts'

const parsed = (uri: string) => ({ uri, latency_ms: 200, address: parseAddress(uri) })
const presume = async (uri: string) => test.presume(parsed(uri), { allowFiles: false, reencode: false })

describe('the test source', () => {
  it('has defaults', async () => {
    const facts = await presume('test://smpte')
    expect(facts).toMatchObject({ klv: false, frameRate: 30 })
    const { tokens } = test.line(parsed('test://smpte'), facts)
    expect(tokens.join(' ')).toContain('pattern=smpte ! video/x-raw,format=I420,width=640,height=360,')
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
  ])('rejects %s', async (uri) => {
    await expect(presume(uri)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  })
})
