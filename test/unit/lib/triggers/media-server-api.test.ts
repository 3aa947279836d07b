import { describe, expect, it } from 'vitest'
import { createMediaServerApi } from '../../../../lib/triggers/media-server-api.ts'

const items = (count: number, page = 0) => Array.from({ length: count }, (_, at) => ({ name: `live/${page}-${at}`, ready: true }))

/** The list of a server that answers this to each page, and the pages that were asked for. */
const listOf = async (answer: (page: number) => object) => {
  const pages: number[] = []
  const fetch = async (input: string | URL | Request): Promise<Response> => {
    const page = Number(new URL(String(input)).searchParams.get('page'))
    pages.push(page)
    return Response.json(answer(page))
  }
  const { available } = await createMediaServerApi('http://media:9997', fetch).list(new AbortController().signal)
  return { paths: available.size, pages: pages.length }
}

describe('the path list of a media server', () => {
  it('is read page by page', async () => {
    expect(await listOf((page) => ({ pageCount: 3, items: items(page === 2 ? 7 : 1000, page) }))).toEqual({ paths: 2007, pages: 3 })
  })

  it('is refused with more paths on a page than were asked for', async () => {
    await expect(listOf(() => ({ pageCount: 1, items: items(1001) }))).rejects.toThrow('not a path list of MediaMTX')
  })

  it('has an end, whatever the server says', async () => {
    expect(await listOf((page) => ({ pageCount: 1e9, items: items(1000, page) }))).toEqual({ paths: 10_000, pages: 10 })
  })
})
