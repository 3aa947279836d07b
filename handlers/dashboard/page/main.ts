import { begin } from './api/begin.ts'
import { hasKlv, hasSound, hasVideo } from './api/phase.ts'
import { pipelines } from './api/pipelines.ts'
import { watchUpgrades } from './api/upgrade.ts'
import { playAhead } from './player/playback.ts'
import { route } from './ui/route.ts'

/** The page is drawn by then even without content, milliseconds. */
const EMPTY_MS = 150

/** Starts the video of the pipeline that the URL names while the page is loaded and drawn. */
const playNamed = (): void => {
  const { value } = route
  if (value.page !== 'pipeline' && value.page !== 'watch') return
  const pipeline = pipelines.value.get(value.id)?.value
  if (pipeline === undefined || !hasVideo(pipeline)) return
  const isWhole = value.page === 'pipeline'
  playAhead(pipeline.id, { hasSound: isWhole && hasSound(pipeline), hasKlv: isWhole && hasKlv(pipeline) })
}

watchUpgrades()
// Evaluated while the first answers come.
const drawing = import('./draw.tsx')
await Promise.race([begin().then(playNamed), new Promise((resolve) => setTimeout(resolve, EMPTY_MS))])
const { draw } = await drawing
draw()
