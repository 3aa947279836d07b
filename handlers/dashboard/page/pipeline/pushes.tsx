import { now } from '../api/now.ts'
import type { Pipeline } from '../api/types.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import { bytesText, durationText } from '../words/format.ts'
import type { Tone } from '../words/phases.ts'

type Push = Pipeline['runtime']['push'][number]

const STATES: Readonly<Record<Push['state'], { readonly word: string; readonly tone: Tone; readonly icon: IconName }>> = {
  idle: { word: 'Starts with the pipeline', tone: 'quiet', icon: 'moon' },
  connecting: { word: 'Connecting', tone: 'busy', icon: 'wait' },
  sending: { word: 'Sending', tone: 'good', icon: 'dot' },
  waiting: { word: 'Trying again soon', tone: 'bad', icon: 'alert' },
}

/** The receivers of the pipeline and the state of each; nothing without receivers. */
export const Pushes = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { push } = pipeline.runtime
  if (push.length === 0) return null
  return (
    <section class="panel" aria-labelledby="pushes-title">
      <h2 id="pushes-title">Sent to</h2>
      <ul class="pushes">
        {push.map((one) => (
          <Receiver key={one.uri} push={one} />
        ))}
      </ul>
    </section>
  )
}

const Receiver = ({ push: { uri, state, since, last_error, bytes } }: { readonly push: Push }) => {
  const { word, tone, icon } = STATES[state]
  return (
    <li>
      <code>{uri}</code>
      <p class="push-state">
        <span class={`state tone-${tone}`}>
          <Icon name={icon} />
          {word}
        </span>
        {state === 'sending' && (
          <span class="muted small">
            {bytesText(bytes)} · {durationText(now.value - Date.parse(since))}
          </span>
        )}
      </p>
      {(state === 'waiting' || state === 'connecting') && last_error !== null && <p class="field-error">{last_error.message}</p>}
    </li>
  )
}
