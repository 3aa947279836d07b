import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, api, issuesOf, wordsOf } from '../api/api.ts'
import type { TestReport } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { Icon } from '../ui/icon.tsx'
import { adviceOn } from '../words/advice.ts'
import { reportTexts } from '../words/report.ts'
import { bodyOf, type Draft } from './draft.ts'

interface Tested {
  /** The body that was tested: a result of another one is not shown. */
  readonly body: string
  readonly report?: TestReport
  readonly failure?: string
  readonly advice?: string | undefined
}

/** The body of a draft, also of one that has no name yet. */
const testedBody = (draft: Draft) => bodyOf({ ...draft, id: draft.id || 'new', output: '', push: '' })

/** Reads the source for a moment, and shows what it sends. */
export const TestPanel = ({ draft }: { readonly draft: Draft }) => {
  const tested = useSignal<Tested | undefined>(undefined)
  const body = JSON.stringify(testedBody(draft))
  const test = async (): Promise<void> => {
    tested.value = undefined
    try {
      tested.value = { body, report: await api.testPipeline({ body: testedBody(draft) }) }
    } catch (error) {
      tested.value = { body, ...failureOf(error) }
    }
  }
  const isEmpty = (draft.mode === 'simple' ? draft.uri : draft.rawPipeline).trim() === ''
  return (
    <div class="test">
      <Action icon="play" busyText="Testing" disabled={isEmpty} run={test}>
        {draft.mode === 'simple' ? 'Test source' : 'Test description'}
      </Action>
      <div role="status">{tested.value?.body === body && <Result tested={tested.value} />}</div>
    </div>
  )
}

const failureOf = (error: unknown): Pick<Tested, 'failure' | 'advice'> => {
  const [issue] = issuesOf(error).values()
  const { cause, reason } = error instanceof ApiError ? error.details : {}
  return {
    failure: issue ?? (typeof cause === 'string' ? cause : wordsOf(error)),
    advice: typeof reason === 'string' ? adviceOn(reason) : undefined,
  }
}

const Result = ({ tested: { report, failure, advice } }: { readonly tested: Tested }) =>
  report === undefined ? (
    <p class="field-error test-line">
      <Icon name="alert" />
      <span>
        {failure} {advice}
      </span>
    </p>
  ) : (
    <div class="test-result">
      {report.picture !== null && <Picture base64={report.picture} />}
      <ul>
        {reportTexts(report).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  )

const Picture = ({ base64 }: { readonly base64: string }) => {
  const image = useRef<HTMLImageElement>(null)
  useEffect(() => {
    const url = URL.createObjectURL(new Blob([Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0))], { type: 'image/jpeg' }))
    if (image.current !== null) image.current.src = url
    return () => URL.revokeObjectURL(url)
  }, [base64])
  return <img ref={image} alt="What the source shows" />
}
