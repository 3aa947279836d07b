import { api } from './api.ts'
import { keepToken, loginNeeded } from './session.ts'

/** Gets a token for this password, and keeps it. */
export const logIn = async (password: string): Promise<void> => {
  const { token } = await api.login({ body: { password } })
  keepToken(token)
  loginNeeded.value = false
}
