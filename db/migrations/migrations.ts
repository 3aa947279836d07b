import initial from './0001-initial.sql?raw' with { type: 'text' }
import push from './0002-push.sql?raw' with { type: 'text' }
import stopped from './0003-stopped.sql?raw' with { type: 'text' }
import sound from './0004-sound.sql?raw' with { type: 'text' }
import recording from './0005-recording.sql?raw' with { type: 'text' }
import synchronousKlv from './0006-synchronous-klv.sql?raw' with { type: 'text' }

export interface Migration {
  /** 1, 2, 3 … without a gap; the version of the database after it. */
  readonly version: number
  readonly name: string
  readonly sql: string
}

/** Every step from an empty database to the newest version, in order. Never edit a released step. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'initial', sql: initial },
  { version: 2, name: 'push', sql: push },
  { version: 3, name: 'stopped', sql: stopped },
  { version: 4, name: 'sound', sql: sound },
  { version: 5, name: 'recording', sql: recording },
  { version: 6, name: 'synchronous klv', sql: synchronousKlv },
]
