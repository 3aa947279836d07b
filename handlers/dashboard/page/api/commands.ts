import { api } from './api.ts'
import { drop, take } from './pipelines.ts'

/** Answers at once: the page shows whether it comes to play, and what is in the way. */
export const play = async (id: string): Promise<void> => take(await api.playPipeline({ id, start: 'background' }))

export const stop = async (id: string): Promise<void> => take(await api.stopPipeline({ id }))

/** Deletes a pipeline; one that runs is stopped first. `gone`: called before it leaves the page. */
export const remove = async (id: string, isOff: boolean, gone: () => void = () => {}): Promise<void> => {
  if (!isOff) await stop(id)
  await api.deletePipeline({ id })
  gone()
  drop(id)
}

/** Saves the picture of now as a file, at its full size. */
export const savePicture = async (id: string): Promise<void> => {
  const answer = await api.getSnapshot({ id, quality: 90 })
  const taken = answer.headers.get('x-created-at') ?? new Date().toISOString()
  const url = URL.createObjectURL(await answer.blob())
  saveAs(`${id}_${taken.replaceAll(/[:.]/g, '-')}.jpg`, url)
  setTimeout(() => URL.revokeObjectURL(url), SAVE_MS)
}

/** A browser may read the picture a moment later. */
const SAVE_MS = 60_000

export const saveAs = (name: string, url: string): void => {
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
}
