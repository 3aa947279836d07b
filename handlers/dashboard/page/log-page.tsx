import { signal } from '@preact/signals'
import { api, wordsOf } from './api/api.ts'
import { whileVisible } from './api/follow.ts'
import type { FoundLine } from './api/types.ts'
import { Banner } from './ui/banner.tsx'
import { Icon } from './ui/icon.tsx'
import { Page } from './ui/page.tsx'
import { pipelineHref } from './ui/route.ts'
import { useAbortable } from './ui/use-abortable.ts'
import { countText, timeText } from './words/format.ts'

const LINES = 500
const POLL_MS = 2000
/** After the last letter that was typed. */
const TYPED_MS = 200

const KINDS = {
  all: { word: 'Everything', stream: undefined },
  engine: { word: 'What happened', stream: 'engine' },
  stderr: { word: 'Messages of processes', stream: 'stderr' },
} as const

type Kind = keyof typeof KINDS

// They stay when the page is left.
const search = signal('')
const kind = signal<Kind>('all')
const lines = signal<readonly FoundLine[] | undefined>(undefined)
const failure = signal('')

const load = async (abort: AbortSignal): Promise<void> => {
  try {
    const { stream } = KINDS[kind.peek()]
    const found = await api.searchLogs({
      search: search.peek().trim(),
      limit: LINES,
      ...(stream !== undefined && { stream }),
      signal: abort,
    })
    if (abort.aborted) return
    lines.value = found.toReversed()
    failure.value = ''
  } catch (error) {
    if (!abort.aborted) failure.value = wordsOf(error)
  }
}

/** What happened to all pipelines and what their processes wrote, the newest line first. */
export const LogPage = () => {
  useAbortable(
    (abort) => {
      const timer = setTimeout(() => void whileVisible(abort, () => load(abort).then(() => POLL_MS)), TYPED_MS)
      abort.addEventListener('abort', () => clearTimeout(timer))
    },
    [search.value, kind.value],
  )
  return (
    <Page title="Logs" isBusy={lines.value === undefined && failure.value === ''}>
      <Filters />
      {failure.value !== '' && (
        <Banner>
          <p>{failure.value}</p>
        </Banner>
      )}
      {lines.value !== undefined && <Lines lines={lines.value} />}
    </Page>
  )
}

const Filters = () => (
  <div class="filters">
    <label class="search">
      <span class="sr-only">Search by text or pipeline</span>
      <Icon name="search" />
      <input
        type="search"
        placeholder="Search by text or pipeline"
        maxLength={200}
        value={search.value}
        onInput={({ currentTarget }) => {
          search.value = currentTarget.value
        }}
      />
    </label>
    <fieldset class="chips">
      <legend class="sr-only">Lines</legend>
      {(Object.keys(KINDS) as Kind[]).map((name) => (
        <label key={name} class="chip">
          <input
            type="radio"
            name="kind"
            checked={kind.value === name}
            onChange={() => {
              kind.value = name
            }}
          />
          {KINDS[name].word}
        </label>
      ))}
    </fieldset>
  </div>
)

const Lines = ({ lines: shown }: { readonly lines: readonly FoundLine[] }) => (
  <>
    <p class="muted" role="status">
      {shown.length === LINES ? `The newest ${LINES} lines` : countText(shown.length, 'line')}, the newest first. Each pipeline keeps its
      last 500.
    </p>
    {shown.length > 0 && (
      <ol class="log log-page" aria-label="Lines of all pipelines">
        {shown.map(({ at, pipeline_id, run, stream, line }, index) => (
          <li key={`${pipeline_id} ${at} ${shown.length - index}`} class={stream === 'stderr' ? 'log-error' : ''}>
            <span class="log-time">
              <bdi>{timeText(at)}</bdi> <span title={`Run ${run}`}>#{run}</span>
            </span>
            <a class="log-pipeline" href={pipelineHref(pipeline_id)}>
              {pipeline_id}
            </a>
            <code>{line}</code>
          </li>
        ))}
      </ol>
    )}
  </>
)
