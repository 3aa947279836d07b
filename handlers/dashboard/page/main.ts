import { begin } from './api/begin.ts'
import { hasVideo } from './api/has-video.ts'
import { pipelines } from './api/pipelines.ts'
import { watchUpgrades } from './api/upgrade.ts'
import { playAhead } from './player/playback.ts'
import { route } from './ui/route.ts'

/** A page without content for longer would look broken, milliseconds. */
const EMPTY_MS = 150

/** The picture of the pipeline that the address names: to load and draw the page takes as long as to get it. */
const playNamed = (): void => {
  const { value } = route
  const pipeline = value.page === 'pipeline' ? pipelines.value.get(value.id)?.value : undefined
  if (pipeline !== undefined && hasVideo(pipeline)) playAhead(pipeline.id)
}

watchUpgrades()
await Promise.race([begin().then(playNamed), new Promise((resolve) => setTimeout(resolve, EMPTY_MS))])
await import('./draw.tsx')
