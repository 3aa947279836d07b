import { signal } from '@preact/signals'
import { Icon } from './icon.tsx'

interface Notice {
  readonly id: number
  readonly text: string
  readonly tone: 'good' | 'bad'
}

const SHOWN_MS = { good: 4000, bad: 12_000 } as const
const MAX_NOTICES = 4

const notices = signal<readonly Notice[]>([])
let last = 0

/** Shows a message at the edge of the page for a few seconds. */
export const notify = (text: string, tone: Notice['tone'] = 'good'): void => {
  const notice = { id: ++last, text, tone }
  notices.value = [...notices.value, notice].slice(-MAX_NOTICES)
  setTimeout(() => dismiss(notice.id), SHOWN_MS[tone])
}

const dismiss = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

export const Notices = () => (
  <section class="notices" aria-label="Messages" aria-live="polite">
    {notices.value.map(({ id, text, tone }) => (
      <div key={id} class={`notice notice-${tone}`}>
        <Icon name={tone === 'bad' ? 'alert' : 'dot'} />
        <p>{text}</p>
        <button type="button" class="button button-quiet" aria-label="Close message" onClick={() => dismiss(id)}>
          <Icon name="close" />
        </button>
      </div>
    ))}
  </section>
)
