import { signal } from '@preact/signals'
import { TOKEN_KEY } from './prefetched.ts'

/** Token of the login, for this tab until it is closed. */
export const token = signal<string | undefined>(sessionStorage.getItem(TOKEN_KEY) ?? undefined)

/** Whether a password is set; undefined until the service has answered. */
export const authEnabled = signal<boolean | undefined>(undefined)

/** Whether the API refuses this page until a login. */
export const loginNeeded = signal(false)

/** Whether this page is changing the password, which ends every session; a new one follows at once. */
export const passwordChanging = signal(false)

/** Whether a session has ended without a logout. */
export const sessionEnded = signal(false)

export const keepToken = (value: string | undefined): void => {
  token.value = value
  sessionEnded.value = false
  if (value === undefined) sessionStorage.removeItem(TOKEN_KEY)
  else sessionStorage.setItem(TOKEN_KEY, value)
}

/** For a token that the API refused; ignored unless it is the current one. */
export const refuse = (used: string | undefined): void => {
  if (used !== token.peek()) return
  keepToken(undefined)
  sessionEnded.value = used !== undefined
  authEnabled.value = true
  loginNeeded.value = true
}
