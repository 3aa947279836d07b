import { describe, expect, it } from 'vitest'
import { kindOfSource, presumeFacts, readSource } from '../../../../engine/sources/kinds.ts'
import type { SourceFacts } from '../../../../engine/sources/source-kind.ts'

const presume = (uri: string): Promise<SourceFacts> => presumeFacts({ uri, latency_ms: 200 }, { allowFiles: false, reencode: false })

describe('the test source', () => {
  it('has defaults', async () => {
    const source = { uri: 'test://smpte', latency_ms: 200 }
    const facts = await presume(source.uri)
    expect(facts).toMatchObject({ klv: false, frameRate: 30 })
    expect(readSource(source, facts).line.tokens.join(' ')).toContain('pattern=smpte ! video/x-raw,format=I420,width=640,height=360,')
    expect(kindOfSource(source).encoding).toMatchObject({ codec: 'h264' })
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
