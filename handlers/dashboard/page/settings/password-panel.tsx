import { useSignal } from '@preact/signals'
import { api, wordsOf } from '../api/api.ts'
import { logIn } from '../api/log-in.ts'
import { authEnabled, keepToken, passwordChanging } from '../api/session.ts'
import { Action } from '../ui/action.tsx'
import { ConfirmedAction } from '../ui/confirm.tsx'
import { TextField } from '../ui/field.tsx'
import { notify } from '../ui/notices.tsx'

const ADVISED_LENGTH = 12

/** Sets, changes and removes the password of the service. */
export const PasswordPanel = () => {
  const { password, failure, set } = usePassword()
  const isSet = authEnabled.value === true
  return (
    <section class="panel" aria-labelledby="password-title">
      <h2 id="password-title">Password</h2>
      <form class="form-group" onSubmit={(event) => event.preventDefault()}>
        <p class="muted">{isSet ? 'A password is set.' : 'No password is set: everyone who can reach this service may use it.'}</p>
        <TextField
          name="New password"
          type="password"
          autocomplete="new-password"
          help={`${ADVISED_LENGTH} characters or more, of different kinds.`}
          value={password.value}
          error={failure.value}
          onInput={(value) => {
            password.value = value
          }}
        />
        <div class="actions">
          <Action type="submit" disabled={password.value === ''} busyText="Saving" run={set}>
            {isSet ? 'Change password' : 'Set password'}
          </Action>
          {isSet && (
            <ConfirmedAction name="Remove password" title="Remove the password?" action="Remove it" busyText="Removing" run={remove}>
              <p>Everyone who can reach this service may then see and change everything.</p>
            </ConfirmedAction>
          )}
        </div>
      </form>
    </section>
  )
}

const usePassword = () => {
  const password = useSignal('')
  const failure = useSignal<string | undefined>(undefined)
  const set = async (): Promise<void> => {
    passwordChanging.value = true
    // The field accepts input meanwhile.
    const chosen = password.value
    try {
      await api.setPassword({ body: { password: chosen } })
      // A change ends every session, this one too.
      await logIn(chosen)
      authEnabled.value = true
      password.value = ''
      failure.value = undefined
      notify('The password is set. All other users have to log in again.')
    } catch (error) {
      failure.value = wordsOf(error)
    } finally {
      passwordChanging.value = false
    }
  }
  return { password, failure, set }
}

const remove = async (): Promise<void> => {
  await api.removePassword()
  keepToken(undefined)
  authEnabled.value = false
  notify('The password is removed. Everyone who can reach the service may use it.')
}
