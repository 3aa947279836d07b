import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { api, wordsOf } from '../api/api.ts'
import { saveAs } from '../api/commands.ts'
import type { Screenshot } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { bytesText, timeText } from '../words/format.ts'

/** Pictures this close to the window are fetched. */
const MARGIN = '400px'

/** One screenshot, fetched when it becomes visible. An image element could not send a credential. */
export const Picture = ({
  file: { file, created_at, size_bytes },
  onDeleted,
}: {
  readonly file: Screenshot
  readonly onDeleted: () => unknown
}) => {
  const { item, url, failure } = usePicture(file)
  const time = timeText(created_at)
  return (
    <li ref={item} class="picture">
      <div class="picture-frame">
        {url.value !== undefined && <img src={url.value} alt={`Taken at ${time}`} />}
        {failure.value !== '' && <p class="field-error">{failure.value}</p>}
      </div>
      <div class="picture-foot">
        <span>
          {timeText(created_at)} <span class="muted">{bytesText(size_bytes)}</span>
        </span>
        <span>
          <Action
            kind="quiet"
            icon="down"
            label={`Download the screenshot of ${time}`}
            disabled={url.value === undefined}
            run={() => saveAs(file, url.value ?? '')}
          >
            {''}
          </Action>
          <Action
            kind="quiet"
            icon="trash"
            label={`Delete the screenshot of ${time}`}
            run={async () => {
              await api.deleteScreenshot({ file })
              await onDeleted()
            }}
          >
            {''}
          </Action>
        </span>
      </div>
    </li>
  )
}

/** Fetches a screenshot when `item` becomes visible. */
const usePicture = (file: string) => {
  const item = useRef<HTMLLIElement>(null)
  const url = useSignal<string | undefined>(undefined)
  const failure = useSignal('')
  useEffect(() => {
    if (item.current === null) return
    const end = new AbortController()
    const load = async (): Promise<void> => {
      const answer = await api.getScreenshot({ file, signal: end.signal })
      url.value = URL.createObjectURL(await answer.blob())
    }
    const onSight = (entries: readonly IntersectionObserverEntry[]): void => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return
      observer.disconnect()
      load().catch((error: unknown) => {
        if (!end.signal.aborted) failure.value = wordsOf(error)
      })
    }
    const observer = new IntersectionObserver(onSight, { rootMargin: MARGIN })
    observer.observe(item.current)
    return () => {
      end.abort()
      observer.disconnect()
      if (url.peek() !== undefined) URL.revokeObjectURL(url.peek() ?? '')
    }
  }, [file])
  return { item, url, failure }
}
