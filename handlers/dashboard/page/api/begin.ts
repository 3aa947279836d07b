import { effect } from '@preact/signals'
import { api } from './api.ts'
import { connected, keepPipelines, loaded } from './pipelines.ts'
import { authEnabled, loginNeeded, passwordChanging, token } from './session.ts'

const RETRY_MS = 1000

/** Asks whether a login is needed, and follows the pipelines whenever it is not. Resolves when the page knows what to show. */
export const begin = (): Promise<void> => {
  void findOut()
  effect(() => {
    if (authEnabled.value === undefined || loginNeeded.value || passwordChanging.value) return
    const session = new AbortController()
    keepPipelines(session.signal)
    return () => session.abort()
  })
  const known = Promise.withResolvers<void>()
  effect(() => {
    if (loaded.value || loginNeeded.value) known.resolve()
  })
  return known.promise
}

const findOut = async (): Promise<void> => {
  while (authEnabled.value === undefined) {
    try {
      const { auth_enabled } = await api.getAuthStatus()
      loginNeeded.value = auth_enabled && token.value === undefined
      authEnabled.value = auth_enabled
    } catch {
      connected.value = false
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}
