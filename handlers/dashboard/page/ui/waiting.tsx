import { connected, refusal } from '../api/pipelines.ts'

/** Instead of pipelines, until the first list has come: why it has not, where that is known. */
export const Waiting = () => (
  <p class="muted loading" role="status">
    {refusal.value ?? (connected.value === false ? 'The service does not answer. Trying again…' : 'Loading pipelines…')}
  </p>
)
