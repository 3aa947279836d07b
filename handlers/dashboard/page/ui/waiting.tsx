import { connected, refusal } from '../api/pipelines.ts'

/** Shown until the first list of pipelines arrives, with the reason if it does not. */
export const Waiting = () => (
  <p class="muted loading" role="status">
    {refusal.value ?? (connected.value === false ? 'The service does not answer. Trying again…' : 'Loading pipelines…')}
  </p>
)
