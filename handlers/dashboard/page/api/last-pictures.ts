import { api } from './api.ts'

/** The last picture of each pipeline, a few kilobytes each, so that pages show them at once. */
const pictures = new Map<string, string>()
const MAX_STORED = 500

/** The URL of the last picture. */
export const lastPictureOf = (id: string): string | undefined => pictures.get(id)

export const storePicture = (id: string, blob: Blob): string => {
  const old = pictures.get(id)
  pictures.delete(id)
  const url = URL.createObjectURL(blob)
  pictures.set(id, url)
  if (old !== undefined) URL.revokeObjectURL(old)
  const [oldest] = pictures
  if (pictures.size > MAX_STORED && oldest !== undefined) {
    pictures.delete(oldest[0])
    URL.revokeObjectURL(oldest[1])
  }
  return url
}

/** Of a pipeline whose source is away: the one that this page has seen, else the newest screenshot. */
export const readLastPicture = async (id: string, signal: AbortSignal): Promise<string | undefined> => {
  const known = pictures.get(id)
  if (known !== undefined) return known
  const [newest] = await api.listScreenshots({ pipeline_id: id, limit: 1, signal })
  if (newest === undefined) return undefined
  const answer = await api.getScreenshot({ file: newest.file, signal })
  return storePicture(id, await answer.blob())
}
