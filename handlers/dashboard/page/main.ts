import { begin } from './api/begin.ts'
import { hasVideo } from './api/phase.ts'
import { pipelines } from './api/pipelines.ts'
import { watchUpgrades } from './api/upgrade.ts'
import { playAhead } from './player/playback.ts'
import { route } from './ui/route.ts'

/** The page is drawn by then even without content, milliseconds. */
const EMPTY_MS = 150

/** Starts the video of the pipeline that the URL names while the page is loaded and drawn. */
const playNamed = (): void => {
  const { value } = route
  const pipeline = value.page === 'pipeline' ? pipelines.value.get(value.id)?.value : undefined
  if (pipeline !== undefined && hasVideo(pipeline)) playAhead(pipeline.id)
}

watchUpgrades()
await Promise.race([begin().then(playNamed), new Promise((resolve) => setTimeout(resolve, EMPTY_MS))])
await import('./draw.tsx')
