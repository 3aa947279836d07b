import { describe, expect, it, vi } from 'vitest'
import { createPipelineRepository } from '../../../db/pipelines.ts'
import { keepCredentialInMemory, keepPipelinesInMemory } from '../../../db/write-through.ts'
import { openApi, START } from '../../helpers/api/api.ts'
import { pipelineRecord as record } from '../../helpers/fakes/pipeline-record.ts'

/** The repository in memory, and the file below it, whose reads are counted. */
const layers = async () => {
  const { database } = await openApi()
  const file = createPipelineRepository(database)
  const counted = { ...file, list: vi.fn(file.list), find: vi.fn(file.find) }
  return { database, file, counted, memory: keepPipelinesInMemory(counted) }
}

describe('pipelines kept in memory', () => {
  it('are the same as in the file after every kind of write', async () => {
    const { file, memory } = await layers()
    const agree = async () => expect(await memory.list()).toEqual(await file.list())
    for (const id of ['a', 'b', 'c']) await memory.insert(record(id))
    await agree()
    await memory.setDesired('a', 'ready')
    await agree()
    await memory.setGeolocation('b', { latitude: 1, longitude: 2, altitude: null, heading: 3 }, START + 1)
    await agree()
    await memory.replace('c', { ...record('c', { on_demand: true }), updated_at: START + 2 })
    await agree()
    expect(await memory.remove('a')).toBe(true)
    expect(await memory.remove('a')).toBe(false)
    await agree()
    expect(await memory.find('a')).toBeUndefined()
    expect(await memory.find('c')).toEqual(await file.find('c'))
  })

  it('are read from the file once', async () => {
    const { memory, counted } = await layers()
    await Promise.all([memory.list(), memory.find('x'), memory.insert(record('a')), memory.list()])
    expect(await memory.list()).toHaveLength(1)
    expect([counted.list, counted.find].map(({ mock }) => mock.calls.length)).toEqual([1, 0])
  })

  it('do not show a failed write', async () => {
    const { database, memory } = await layers()
    await memory.insert(record('a'))
    await expect(memory.insert({ ...record('a'), desired: 'ready' })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await memory.setDesired('nobody', 'playing')).toBe(false)
    await database.close()
    await expect(memory.setGeolocation('a', null, START + 1)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(await memory.list()).toEqual([record('a')])
    await expect(memory.count()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })

  it('keep what a pipeline is to do though that cannot be written', async () => {
    const { database, memory } = await layers()
    await memory.insert(record('a'))
    await database.close()
    await expect(memory.setDesired('a', 'ready')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(await memory.find('a')).toEqual(record('a', {}, { desired: 'ready' }))
  })

  it('do not show a write to a pipeline that the file has no more', async () => {
    const { file, memory } = await layers()
    await memory.insert(record('a'))
    await file.remove('a')
    expect(await memory.setDesired('a', 'ready')).toBe(false)
    expect(await memory.find('a')).toEqual(record('a'))
  })

  it('are loaded again after a failed load', async () => {
    const { memory, counted } = await layers()
    counted.list.mockRejectedValueOnce(new Error('busy'))
    await expect(memory.list()).rejects.toThrow('busy')
    expect(await memory.list()).toEqual([])
  })
})

describe('a credential kept in memory', () => {
  it('is the last one set, and read from the file once', async () => {
    const file = { find: vi.fn(async () => 'first'), set: vi.fn(async () => {}), clear: vi.fn(async () => {}) }
    const memory = keepCredentialInMemory(file)
    expect([await memory.find(), await memory.find()]).toEqual(['first', 'first'])
    await memory.set('second', 0)
    expect(await memory.find()).toBe('second')
    await memory.clear()
    expect(await memory.find()).toBeUndefined()
    expect([file.find, file.set, file.clear].map(({ mock }) => mock.calls)).toEqual([[[]], [['second', 0]], [[]]])
  })
})
