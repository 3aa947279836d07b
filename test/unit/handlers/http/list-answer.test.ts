import { describe, expect, it } from 'vitest'
import { createListAnswer } from '../../../../handlers/http/list-answer.ts'
import { idleView } from '../../../../lib/pipelines/representation.ts'
import type { FoundPipeline } from '../../../../lib/pipelines/serialize.ts'
import type { PipelineView, Runtime } from '../../../../lib/schema/pipeline.ts'
import { pipelineRecord } from '../../../helpers/fakes/pipeline-record.ts'

const found = (id: string, runtime: Partial<Runtime> = {}): FoundPipeline => {
  const record = pipelineRecord(id)
  const view: PipelineView = idleView(record)
  return { record, view: { ...view, runtime: { ...view.runtime, ...runtime } }, agedMs: 0 }
}

type ListAnswer = ReturnType<typeof createListAnswer>

const textOf = (body: ReturnType<ListAnswer>['body']): string =>
  typeof body === 'string' || body instanceof Uint8Array ? decode(body) : [...body].map(decode).join('')
const decode = (piece: string | Uint8Array): string => (typeof piece === 'string' ? piece : new TextDecoder().decode(piece))
const read = (list: ListAnswer, pipelines: readonly FoundPipeline[]) => JSON.parse(textOf(list(pipelines).body))

describe('the answer of a list', () => {
  it('is the same bytes while nothing runs and nothing changes', () => {
    const list = createListAnswer()
    const [one, two] = [found('a'), found('ü')]
    const first = list([one, two])
    expect(list([{ ...one }, { ...two }]).body).toBe(first.body)
    expect(read(list, [one, two]).map(({ id }: { id: string }) => id)).toEqual(['a', 'ü'])
  })

  it('follows each change', () => {
    const list = createListAnswer()
    const [one, two] = [found('a'), found('b')]
    const ids = (...pipelines: FoundPipeline[]) => read(list, pipelines).map(({ id }: { id: string }) => id)
    expect(ids(one, two)).toEqual(['a', 'b'])
    expect(ids(one)).toEqual(['a'])
    expect(ids(one, found('c'))).toEqual(['a', 'c'])
    expect(ids()).toEqual([])
    expect(read(list, [one])[0].geolocation).toBeNull()
    const geolocation = { latitude: 48, longitude: 2, altitude: null, heading: null }
    expect(read(list, [{ ...one, record: pipelineRecord('a', {}, { geolocation }) }])[0].geolocation).toEqual(geolocation)
    const started: PipelineView = { ...one.view, state: 'playing', runtime: { ...one.view.runtime, phase: 'playing', frames: 7 } }
    expect(read(list, [{ ...one, view: started }])[0].runtime.frames).toBe(7)
  })

  it('has the age of the last frame of a pipeline that has ended, as it is at each answer', () => {
    const list = createListAnswer()
    const ended = found('a', { last_frame_age_ms: 100 })
    const ages = [0, 50].map((agedMs) => read(list, [{ ...ended, agedMs }])[0].runtime.last_frame_age_ms)
    expect(ages).toEqual([100, 150])
  })

  it('that is long comes in pieces, and only those with a change are made again', () => {
    const list = createListAnswer()
    const pipelines = Array.from({ length: 1000 }, (_, at) => found(`p-${at}`))
    const pieces = (of: readonly FoundPipeline[]) => [...(list(of).body as Iterable<string | Uint8Array>)]
    const first = pieces(pipelines)
    const ids = JSON.parse(first.map(decode).join('')).map(({ id }: { id: string }) => id)
    expect(ids).toEqual(pipelines.map(({ record }) => record.config.id))
    const changed = pipelines.with(300, found('changed'))
    const second = pieces(changed)
    expect(second.map((piece, at) => piece === first[at])).toEqual([true, false, true, true])
    expect(JSON.parse(second.map(decode).join(''))[300].id).toBe('changed')
    const shorter = pieces(changed.slice(0, 500))
    expect(JSON.parse(shorter.map(decode).join(''))).toHaveLength(500)
  })
})
