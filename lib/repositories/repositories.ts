import type { Geolocation, Pipeline, PipelineConfig, PipelineState } from '../schema/pipeline.ts'
import type { ScreenshotSchedule } from '../schema/screenshot.ts'
import type { PartialSettings } from '../schema/settings.ts'

/**
 * The stored data; db implements these interfaces. Every method throws SERVICE_UNAVAILABLE when the database does not
 * answer. Times are milliseconds since the epoch.
 */

/** A stored pipeline with its state. */
export interface PipelineRecord extends Pipeline {
  /** The state that was last requested; restored after a crash of the engine. */
  readonly desired: PipelineState
  /** A stop command was the last one: it stays stopped over restarts, until a play. */
  readonly stopped: boolean
  /** The schedule of the periodic screenshots; null when they, or the pipeline, were stopped. */
  readonly screenshots?: ScreenshotSchedule | null
  /** Whether it is recorded while it plays. */
  readonly recording: boolean
  /** Path of the media server's stream that triggered it; null for a pipeline that a client created. */
  readonly trigger_path: string | null
}

export interface PipelineChange {
  readonly config: PipelineConfig
  readonly geolocation: Geolocation | null
  readonly updated_at: number
}

export interface PipelineRepository {
  /** All, oldest first. */
  list(): Promise<readonly PipelineRecord[]>
  count(): Promise<number>
  find(id: string): Promise<PipelineRecord | undefined>
  /** CONFLICT when the id exists. */
  insert(record: PipelineRecord): Promise<void>
  /** False when the id is unknown. */
  replace(id: string, change: PipelineChange): Promise<boolean>
  setGeolocation(id: string, geolocation: Geolocation | null, updatedAt: number): Promise<boolean>
  /** `stopped`: by a stop command, which lasts over restarts. */
  setDesired(id: string, desired: PipelineState, stopped?: boolean): Promise<boolean>
  setScreenshots(id: string, screenshots: ScreenshotSchedule | null): Promise<boolean>
  setRecording(id: string, recording: boolean): Promise<boolean>
  remove(id: string): Promise<boolean>
}

export interface SettingsRepository {
  /** The settings that differ from the defaults. */
  read(): Promise<PartialSettings>
  write(changes: PartialSettings, updatedAt: number): Promise<void>
}

export interface CredentialRepository {
  /** The password's hash (PHC string), undefined while none is set. */
  find(): Promise<string | undefined>
  /** Sets the password and ends every session in one transaction. */
  set(passwordHash: string, updatedAt: number): Promise<void>
  /** Removes the password and every session in one transaction. */
  clear(): Promise<void>
}

interface LoginSession {
  /** SHA-256 of the token, base64url. */
  readonly token_hash: string
  readonly created_at: number
  readonly expires_at: number
}

export interface SessionRepository {
  find(tokenHash: string): Promise<LoginSession | undefined>
  /** Stores a session and deletes those that have expired by `created_at`. */
  insert(session: LoginSession): Promise<void>
  remove(tokenHash: string): Promise<void>
}
