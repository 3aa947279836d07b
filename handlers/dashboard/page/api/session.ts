import { signal } from '@preact/signals'
import { TOKEN_KEY } from './early.ts'

/** Token of the login; kept for this tab until it is closed. */
export const token = signal<string | undefined>(sessionStorage.getItem(TOKEN_KEY) ?? undefined)

/** Whether a password is set; undefined until the service has answered. */
export const authEnabled = signal<boolean | undefined>(undefined)

/** The API refuses this page until somebody logs in. */
export const loginNeeded = signal(false)

/** While this page changes the password: that ends what was opened before, and a new session is there a moment later. */
export const passwordChanging = signal(false)

/** Somebody was logged in, and the API does not know it any more. */
export const sessionEnded = signal(false)

export const keepToken = (value: string | undefined): void => {
  token.value = value
  sessionEnded.value = false
  if (value === undefined) sessionStorage.removeItem(TOKEN_KEY)
  else sessionStorage.setItem(TOKEN_KEY, value)
}

/** The API refused the token that a request had, if that is still the one in use. */
export const refuse = (used: string | undefined): void => {
  if (used !== token.peek()) return
  keepToken(undefined)
  sessionEnded.value = used !== undefined
  authEnabled.value = true
  loginNeeded.value = true
}
