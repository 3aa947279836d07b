import { describe, expect, it } from 'vitest'
import { createPipelineRepository } from '../../../db/pipelines.ts'
import { keepCredentialInMemory, keepPipelinesInMemory } from '../../../db/write-through.ts'
import type { PipelineRecord, PipelineRepository } from '../../../lib/repositories/repositories.ts'
import { createTestApi, START, type TestApi } from '../../helpers/api/api.ts'

const record = (id: string): PipelineRecord => ({
  config: {
    id,
    mode: 'advanced',
    on_demand: false,
    output: null,
    klv_config: { pass_klv: false, auto_extract_geolocation: false },
    push: [],
    ephemeral: false,
    raw_pipeline: 'videotestsrc ! fakesink',
  },
  geolocation: null,
  desired: 'ready',
  trigger_path: null,
  created_at: START,
  updated_at: START,
})

/** The repository in memory, the file below it, and how often the file was read. */
const layers = (api: TestApi) => {
  const file = createPipelineRepository(api.database)
  const reads = { list: 0, find: 0 }
  const counted: PipelineRepository = {
    ...file,
    list: () => {
      reads.list += 1
      return file.list()
    },
    find: (id) => {
      reads.find += 1
      return file.find(id)
    },
  }
  return { file, reads, memory: keepPipelinesInMemory(counted) }
}

describe('pipelines kept in memory', () => {
  it('are the same as in the file after every kind of write', async () => {
    await using api = await createTestApi()
    const { file, memory } = layers(api)
    const agree = async () => expect(await memory.list()).toEqual(await file.list())
    for (const id of ['a', 'b', 'c']) await memory.insert(record(id))
    await agree()
    await memory.setDesired('a', 'playing')
    await agree()
    await memory.setGeolocation('b', { latitude: 1, longitude: 2, altitude: null, heading: 3 }, START + 1)
    await agree()
    await memory.replace('c', { config: { ...record('c').config, on_demand: true }, geolocation: null, updated_at: START + 2 })
    await agree()
    expect(await memory.remove('a')).toBe(true)
    expect(await memory.remove('a')).toBe(false)
    await agree()
    expect(await memory.find('a')).toBeUndefined()
    expect(await memory.find('c')).toEqual(await file.find('c'))
  })

  it('are read from the file once', async () => {
    await using api = await createTestApi()
    const { memory, reads } = layers(api)
    await Promise.all([memory.list(), memory.find('x'), memory.insert(record('a')), memory.list()])
    expect([(await memory.list()).length, reads]).toEqual([1, { list: 1, find: 0 }])
  })

  it('do not show a failed write', async () => {
    await using api = await createTestApi()
    const { memory } = layers(api)
    await memory.insert(record('a'))
    await expect(memory.insert({ ...record('a'), desired: 'playing' })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await memory.setDesired('nobody', 'playing')).toBe(false)
    await api.database.close()
    await expect(memory.setGeolocation('a', null, START + 1)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(await memory.list()).toEqual([record('a')])
    await expect(memory.count()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })

  it('keep what a pipeline is to do though that cannot be written', async () => {
    await using api = await createTestApi()
    const { memory } = layers(api)
    await memory.insert(record('a'))
    await api.database.close()
    await expect(memory.setDesired('a', 'playing')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(await memory.find('a')).toEqual({ ...record('a'), desired: 'playing' })
  })

  it('do not show a write to a pipeline that the file has no more', async () => {
    await using api = await createTestApi()
    const { file, memory } = layers(api)
    await memory.insert(record('a'))
    await file.remove('a')
    expect(await memory.setDesired('a', 'playing')).toBe(false)
    expect(await memory.find('a')).toEqual(record('a'))
  })

  it('are loaded again after a failed load', async () => {
    await using api = await createTestApi()
    const { file } = layers(api)
    const failures = [new Error('busy')]
    const memory = keepPipelinesInMemory({
      ...file,
      list: async () => {
        const failure = failures.pop()
        if (failure !== undefined) throw failure
        return file.list()
      },
    })
    await expect(memory.list()).rejects.toThrow('busy')
    expect(await memory.list()).toEqual([])
  })
})

describe('a credential kept in memory', () => {
  it('is the last one set, and read from the file once', async () => {
    let stored: string | undefined = 'first'
    let reads = 0
    const memory = keepCredentialInMemory({
      find: async () => {
        reads += 1
        return stored
      },
      set: async (hash) => {
        stored = hash
      },
      clear: async () => {
        stored = undefined
      },
    })
    expect([await memory.find(), await memory.find()]).toEqual(['first', 'first'])
    await memory.set('second', 0)
    expect([await memory.find(), stored]).toEqual(['second', 'second'])
    await memory.clear()
    expect([await memory.find(), stored, reads]).toEqual([undefined, undefined, 1])
  })
})
