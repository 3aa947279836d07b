import { effect } from '@preact/signals'
import { api } from './api.ts'
import { followHealth } from './health.ts'
import { connected, followPipelines, loaded } from './pipelines.ts'
import { authEnabled, loginNeeded, passwordChanging, token } from './session.ts'

const RETRY_MS = 1000

/** Follows the pipelines whenever no login is needed. Resolves when there is something to show: pipelines or the login. */
export const begin = (): Promise<void> => {
  void readAuthStatus()
  effect(() => {
    if (authEnabled.value === undefined || loginNeeded.value || passwordChanging.value) return
    const session = new AbortController()
    followPipelines(session.signal)
    followHealth(session.signal)
    return () => session.abort()
  })
  const known = Promise.withResolvers<void>()
  effect(() => {
    if (loaded.value || loginNeeded.value) known.resolve()
  })
  return known.promise
}

const readAuthStatus = async (): Promise<void> => {
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
