import { api } from '../api/api.ts'
import { newestOnly } from './newest-only.ts'

/** Pictures that were shown last, so that scrubbing back is at once. */
const KEPT = 60

/** Loads the pictures of a recording. */
export const createMomentPictures = (id: string, show: (url: string | undefined) => void) => {
  const urls = new Map<number, string>()
  const keep = (at: number, url: string): void => {
    urls.set(at, url)
    const [oldest] = urls.keys()
    if (urls.size <= KEPT || oldest === undefined) return
    URL.revokeObjectURL(urls.get(oldest) ?? '')
    urls.delete(oldest)
  }
  const load = async (at: number, signal: AbortSignal): Promise<string> => {
    const picture = await (await api.getRecordedPicture({ id, at: new Date(at).toISOString(), signal })).blob()
    const url = URL.createObjectURL(picture)
    keep(at, url)
    return url
  }
  const loader = newestOnly(load, show)
  return {
    want: (at: number): void => {
      const known = urls.get(at)
      loader.want(known === undefined ? at : undefined)
      if (known !== undefined) show(known)
    },
    close: (): void => {
      loader.close()
      for (const url of urls.values()) URL.revokeObjectURL(url)
    },
  }
}
