import type { Pipeline } from '../api/types.ts'

const STATES: Readonly<Record<Pipeline['runtime']['push'][number]['state'], string>> = {
  idle: 'starts with the pipeline',
  connecting: 'connecting',
  sending: 'sending',
  waiting: 'waiting for the next attempt',
}

/** Where the pipeline sends its video, and how that goes; nothing when it sends nowhere. */
export const Pushes = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { push } = pipeline.runtime
  if (push.length === 0) return null
  return (
    <section class="panel" aria-labelledby="pushes-title">
      <h2 id="pushes-title">Sent to</h2>
      <ul>
        {push.map(({ uri, state, last_error }) => (
          <li key={uri}>
            <code>{uri}</code>: {STATES[state]}
            {state === 'waiting' && last_error !== null && `. ${last_error.message}`}
          </li>
        ))}
      </ul>
    </section>
  )
}
