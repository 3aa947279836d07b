import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { wordsOf } from './api/api.ts'
import { logIn } from './api/log-in.ts'
import { sessionEnded } from './api/session.ts'
import { Icon } from './ui/icon.tsx'

export const Login = () => {
  const failure = useSignal('')
  const running = useSignal(false)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [])
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    running.value = true
    failure.value = ''
    try {
      await logIn(input.current?.value ?? '')
    } catch (error) {
      failure.value = wordsOf(error)
      running.value = false
      input.current?.select()
    }
  }
  return (
    <main class="login">
      <form class="panel login-form" onSubmit={submit}>
        <img src="icon.svg" alt="" width="40" height="40" />
        <h1>Video pipelines</h1>
        <p class="muted">{sessionEnded.value ? 'Your session has ended. Log in again to continue.' : 'This service has a password.'}</p>
        <label class="field">
          <span class="field-name">Password</span>
          <input
            ref={input}
            type="password"
            autocomplete="current-password"
            required
            aria-invalid={failure.value !== ''}
            aria-describedby="login-failure"
          />
        </label>
        <p id="login-failure" class="field-error" role="alert">
          {failure.value}
        </p>
        <button type="submit" class="button button-primary button-wide" disabled={running.value} aria-busy={running.value}>
          {running.value && <Icon name="wait" />}
          <span>{running.value ? 'Logging in…' : 'Log in'}</span>
        </button>
      </form>
    </main>
  )
}
