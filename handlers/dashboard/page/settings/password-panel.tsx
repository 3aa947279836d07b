import { useSignal } from '@preact/signals'
import { ApiError, api, wordsOf } from '../api/api.ts'
import { logIn } from '../api/log-in.ts'
import { authEnabled, keepToken, passwordChanging } from '../api/session.ts'
import { Action } from '../ui/action.tsx'
import { ConfirmedAction } from '../ui/confirm.tsx'
import { PasswordField } from '../ui/field.tsx'
import { notify } from '../ui/notices.tsx'

const ADVISED_LENGTH = 12

/** Sets, changes and removes the password of the service. */
export const PasswordPanel = () => {
  const { typed, mistakes, change, set } = usePassword()
  const isSet = authEnabled.value === true
  return (
    <section class="panel" aria-labelledby="password-title">
      <h2 id="password-title">Password</h2>
      <form class="form-group" onSubmit={(event) => event.preventDefault()}>
        <p class="muted">{isSet ? 'A password is set.' : 'No password is set: everyone who can reach this service may use it.'}</p>
        {isSet && (
          <PasswordField
            name="Current password"
            autocomplete="current-password"
            value={typed.current}
            error={mistakes.current}
            onInput={(current) => change({ current })}
          />
        )}
        <div class="form-row">
          <PasswordField
            name="New password"
            autocomplete="new-password"
            help={`${ADVISED_LENGTH} characters or more, of different kinds.`}
            value={typed.chosen}
            error={mistakes.chosen}
            onInput={(chosen) => change({ chosen })}
          />
          <PasswordField
            name="Repeat new password"
            autocomplete="new-password"
            value={typed.repeated}
            error={mistakes.repeated}
            onInput={(repeated) => change({ repeated })}
          />
        </div>
        <div class="actions">
          <Action type="submit" disabled={typed.chosen === '' || (isSet && typed.current === '')} busyText="Saving" run={set}>
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

interface Typed {
  readonly current: string
  readonly chosen: string
  readonly repeated: string
}

const NOTHING: Typed = { current: '', chosen: '', repeated: '' }

const usePassword = () => {
  const typed = useSignal(NOTHING)
  const mistakes = useSignal<Partial<Typed>>({})
  const change = (more: Partial<Typed>): void => {
    typed.value = { ...typed.value, ...more }
    mistakes.value = {}
  }
  const set = async (): Promise<void> => {
    const sent = typed.value
    const { current, chosen, repeated } = sent
    if (chosen !== repeated) {
      mistakes.value = { repeated: 'This is not the same password.' }
      return
    }
    passwordChanging.value = true
    try {
      if (authEnabled.value === true && !(await isPassword(current))) mistakes.value = { current: 'This is not the present password.' }
      else {
        await api.setPassword({ body: { password: chosen } })
        // A change ends every session, this one too.
        await logIn(chosen)
        authEnabled.value = true
        // The fields accept input meanwhile.
        if (typed.value === sent) typed.value = NOTHING
        notify('The password is set. All other users have to log in again.')
      }
    } catch (error) {
      mistakes.value = { chosen: wordsOf(error) }
    } finally {
      passwordChanging.value = false
    }
  }
  return { typed: typed.value, mistakes: mistakes.value, change, set }
}

/** Whether this is the password of the service. A tab that was left open must not be enough to change it. */
const isPassword = async (password: string): Promise<boolean> => {
  try {
    await logIn(password)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return false
    throw error
  }
}

const remove = async (): Promise<void> => {
  await api.removePassword()
  keepToken(undefined)
  authEnabled.value = false
  notify('The password is removed. Everyone who can reach the service may use it.')
}
