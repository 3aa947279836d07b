import { computed, type Signal, signal, useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { now } from '../api/now.ts'
import { hasVideo } from '../api/phase.ts'
import { loaded, pipelines } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { playTileByWebRtc, playWall } from '../player/play-wall.ts'
import type { Excluded } from '../player/stage.ts'
import { createSurfaces } from '../player/surfaces.ts'
import { type Choice, triesWebRtc, WAY_WORDS } from '../screens/ways.ts'
import { Page } from '../ui/page.tsx'
import { pipelineHref } from '../ui/route.ts'
import { StateLabel } from '../ui/state-label.tsx'
import { useAbortable } from '../ui/use-abortable.ts'
import { Waiting } from '../ui/waiting.tsx'
import { nextTryText } from '../words/phases.ts'

/** As many as one connection carries. */
const MAX_TILES = 16
/** Pixels across that are drawn. */
const TILE_WIDTH = 480

const shownPage = signal(0)

/** Ids of the pipelines with video, as one string, which stays equal while only their numbers change. */
const liveIds = computed(() =>
  [...pipelines.value.values()]
    .filter(({ value }) => hasVideo(value))
    .map(({ value }) => value.id)
    .sort((a, b) => a.localeCompare(b, undefined, { numeric: true }))
    .join(' '),
)

/** The live pictures of up to 16 pipelines at a time: by WebRTC where the page has no decoder, and all others over one connection. */
export const WallPage = () => {
  const ids = liveIds.value === '' ? [] : liveIds.value.split(' ')
  const pages = Math.max(1, Math.ceil(ids.length / MAX_TILES))
  const page = Math.min(shownPage.value, pages - 1)
  return (
    <Page title="Wall" action={pages > 1 && <Pager page={page} pages={pages} />}>
      {!loaded.value && <Waiting />}
      {loaded.value && ids.length === 0 && (
        <div class="empty">
          <p>No pipeline plays. Those that play are shown here side by side.</p>
          <a class="button button-plain" href="#/">
            All pipelines
          </a>
        </div>
      )}
      <Wall ids={ids.slice(page * MAX_TILES, (page + 1) * MAX_TILES)} />
    </Page>
  )
}

const Pager = ({ page, pages }: { readonly page: number; readonly pages: number }) => {
  const step = (by: number) => () => {
    shownPage.value = page + by
  }
  return (
    <nav class="actions" aria-label="Parts of the wall">
      <button type="button" class="button button-plain" disabled={page === 0} onClick={step(-1)}>
        Previous
      </button>
      <span class="muted">
        {page + 1} of {pages}
      </span>
      <button type="button" class="button button-plain" disabled={page === pages - 1} onClick={step(1)}>
        Next
      </button>
    </nav>
  )
}

/** What a tile shows; it is kept while the connection is opened again for other pipelines. */
interface Tile extends ReturnType<typeof createSurfaces> {
  readonly hasPicture: Signal<boolean>
  readonly fault: Signal<string | undefined>
  readonly choice: Signal<Choice | undefined>
  readonly excluded: Excluded
}

const createTile = (id: string): Tile => ({
  ...createSurfaces(id),
  hasPicture: signal(false),
  fault: signal(undefined),
  choice: signal(undefined),
  excluded: new Map(),
})

const Wall = ({ ids }: { readonly ids: readonly string[] }) => {
  const tiles = useRef(new Map<string, Tile>())
  const tileOf = (id: string): Tile => {
    const known = tiles.current.get(id) ?? createTile(id)
    tiles.current.set(id, known)
    return known
  }
  for (const id of tiles.current.keys()) if (!ids.includes(id)) tiles.current.delete(id)
  // Those that cannot be played by WebRTC.
  const refused = useSignal<readonly string[]>([])
  const together = triesWebRtc() ? ids.filter((id) => refused.value.includes(id)) : ids
  useAbortable(
    (end) =>
      void playWall(
        together.map((id) => wallTileOf(id, tileOf(id))),
        end,
      ),
    [together.join(' ')],
  )
  const refuse = (id: string): void => {
    refused.value = [...refused.value, id]
  }
  return (
    <>
      <ul class="wall">
        {ids.map((id) => {
          const pipeline = pipelines.value.get(id)
          return pipeline === undefined ? null : (
            <WallTile key={id} pipeline={pipeline.value} tile={tileOf(id)} isAlone={!together.includes(id)} onRefused={() => refuse(id)} />
          )
        })}
      </ul>
      <Ways tiles={ids.map(tileOf)} />
    </>
  )
}

/** How the pictures come, and why not better; each once. */
const Ways = ({ tiles }: { readonly tiles: readonly Tile[] }) => {
  const texts = tiles.flatMap(({ choice: { value } }) =>
    value === undefined ? [] : [`${WAY_WORDS[value.way]}${value.why === '' ? '' : `, because ${value.why}`}`],
  )
  return [...new Set(texts)].map((text) => (
    <p key={text} class="muted">
      {text}
    </p>
  ))
}

const wallTileOf = (id: string, { surfaces, show, hasPicture, fault, choice, excluded }: Tile) => ({
  id,
  surfaces,
  excluded,
  maxWidth: TILE_WIDTH,
  onChoice: (chosen: Choice) => {
    show(chosen.way)
    choice.value = chosen
  },
  onConfig: () => {},
  onPicture: () => {
    hasPicture.value = true
    fault.value = undefined
  },
  onFault: (text: string | undefined) => {
    fault.value = text
  },
  onSource: (isThere: boolean) => {
    fault.value = isThere ? undefined : 'The source is away.'
  },
  onEnd: (why: string | undefined) => {
    fault.value = why
  },
})

interface WallTileProps {
  readonly pipeline: Pipeline
  readonly tile: Tile
  /** It is played by WebRTC. */
  readonly isAlone: boolean
  readonly onRefused: () => void
}

const WallTile = ({ pipeline, tile, isAlone, onRefused }: WallTileProps) => {
  const { id, runtime } = pipeline
  const frame = useRef<HTMLDivElement>(null)
  const isAway = runtime.phase === 'reconnecting'
  useLayoutEffect(() => frame.current?.replaceChildren(tile.element), [tile])
  useAbortable(
    (end) => {
      if (isAlone) void playTileByWebRtc(wallTileOf(id, tile), end).then(() => end.aborted || onRefused())
    },
    [tile, isAlone],
  )
  const message = isAway ? nextTryText(pipeline, now.value) : tile.fault.value
  return (
    <li class="wall-tile">
      <div class={`live live-shown${message === undefined ? '' : ' live-old'}`}>
        <div ref={frame} class="live-frame" />
        {message !== undefined && <p class="live-message">{message}</p>}
      </div>
      <a class="wall-name" href={pipelineHref(id)}>
        {id}
      </a>
      {isAway && <StateLabel pipeline={pipeline} />}
    </li>
  )
}
