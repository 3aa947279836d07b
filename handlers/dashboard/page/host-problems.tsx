import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { healthReports } from './api/health.ts'
import { Icon } from './ui/icon.tsx'
import { type HostProblem, hostProblems } from './words/host-problems.ts'

/** Names of problems that the user has closed, until the page is loaded again or the problem comes again. */
const closed = signal<ReadonlySet<string>>(new Set())

/** What is wrong with the host, on every page. */
export const HostProblems = () => {
  const [health, before] = healthReports.value
  const problems = hostProblems(health, before)
  const shown = problems.filter(({ name }) => !closed.value.has(name))
  useEffect(() => {
    const kept = problems.flatMap(({ name }) => (closed.value.has(name) ? [name] : []))
    if (kept.length < closed.value.size) closed.value = new Set(kept)
  })
  return (
    <section class="host-problems" aria-label="Problems of the host" aria-live="polite">
      {shown.map((problem) => (
        <Problem key={problem.name} problem={problem} />
      ))}
    </section>
  )
}

const Problem = ({ problem: { name, text, advice, link } }: { readonly problem: HostProblem }) => (
  <div class="host-problem">
    <Icon name="alert" />
    <p>
      <strong>{text}</strong> {advice}
      {link !== undefined && (
        <>
          {' '}
          <a href={link.href}>{link.text}</a>
        </>
      )}
    </p>
    <button
      type="button"
      class="button button-quiet"
      aria-label={`Close: ${text}`}
      onClick={() => {
        closed.value = new Set(closed.value).add(name)
      }}
    >
      <Icon name="close" />
    </button>
  </div>
)
