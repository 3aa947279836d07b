/** What is desired of each host: a KV bucket with a document per host. */
export const DESIRED_BUCKET = 'vps-desired'
/** How each host is: a KV bucket with a value per host. */
export const ACTUAL_BUCKET = 'vps-actual'
/** The events of all hosts. */
export const EVENT_STREAM = 'VPS_EVENTS'

/** The stream that holds a KV bucket. */
export const streamOfBucket = (bucket: string): string => `KV_${bucket}`

/** The subject of a key, or of all keys by `>`. */
export const subjectOfKey = (bucket: string, key: string): string => `$KV.${bucket}.${key}`

export const EVENT_SUBJECTS = 'vps.events.>'

export const eventSubject = (host: string, event: string): string => `vps.events.${host}.${event}`

export const apiSubject = (host: string): string => `vps.api.${host}`

/** Inboxes of a host, which other hosts may not read. */
export const inboxOf = (host: string): string => `_INBOX.${host}`
