import type { Geolocation, Pipeline, PipelineConfig, PipelineState } from './schema/pipeline.ts'
import type { ScreenshotSchedule } from './schema/screenshot.ts'
import type { PartialSettings } from './schema/settings.ts'

/**
 * What outlives the process, as lib sees it; db implements it. Every method throws SERVICE_UNAVAILABLE
 * when the database does not answer. Times are milliseconds since the epoch.
 */

/** A pipeline and what the service remembers about it. */
export interface PipelineRecord extends Pipeline {
  /** What was last asked for, so that it is wanted again after the engine crashed. */
  readonly desired: PipelineState
  /** The periodic screenshots that were last asked for; null when they were stopped, or the pipeline was. */
  readonly screenshots?: ScreenshotSchedule | null
  /** The media server's stream that created it; null for a pipeline of a user. */
  readonly trigger_path: string | null
}

export interface PipelineChange {
  readonly config: PipelineConfig
  readonly geolocation: Geolocation | null
  readonly updated_at: number
}

export interface PipelineRepository {
  /** All, the oldest first. */
  list(): Promise<readonly PipelineRecord[]>
  count(): Promise<number>
  find(id: string): Promise<PipelineRecord | undefined>
  /** CONFLICT when the id exists. */
  insert(record: PipelineRecord): Promise<void>
  /** False when the id is unknown. */
  replace(id: string, change: PipelineChange): Promise<boolean>
  setGeolocation(id: string, geolocation: Geolocation | null, updatedAt: number): Promise<boolean>
  setDesired(id: string, desired: PipelineState): Promise<boolean>
  setScreenshots(id: string, screenshots: ScreenshotSchedule | null): Promise<boolean>
  remove(id: string): Promise<boolean>
}

export interface SettingsRepository {
  /** What was changed from the defaults. */
  read(): Promise<PartialSettings>
  write(changes: PartialSettings, updatedAt: number): Promise<void>
}

export interface CredentialRepository {
  /** The password's hash (PHC string), undefined while none is set. */
  find(): Promise<string | undefined>
  /** Sets the password and ends every session, together. */
  set(passwordHash: string, updatedAt: number): Promise<void>
  /** Removes the password and every session, together. */
  clear(): Promise<void>
}

export interface LoginSession {
  /** SHA-256 of the token, base64url. */
  readonly token_hash: string
  readonly created_at: number
  readonly expires_at: number
}

export interface SessionRepository {
  find(tokenHash: string): Promise<LoginSession | undefined>
  /** Stores a session and forgets those that have expired by `created_at`. */
  insert(session: LoginSession): Promise<void>
  remove(tokenHash: string): Promise<void>
}
