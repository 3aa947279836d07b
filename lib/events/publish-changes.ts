import type { PipelineRepository } from '../repositories/repositories.ts'
import type { EventHub } from './hub.ts'

/** A repository that notifies the hub of every change it makes. */
export const publishChanges = (pipelines: PipelineRepository, hub: Pick<EventHub, 'changed' | 'removed'>): PipelineRepository => {
  const notified = async <T>(id: string, change: Promise<T>, notify: (id: string) => void): Promise<T> => {
    const result = await change
    if (result !== false) notify(id)
    return result
  }
  return {
    ...pipelines,
    insert: (record) => notified(record.config.id, pipelines.insert(record), hub.changed),
    replace: (id, change) => notified(id, pipelines.replace(id, change), hub.changed),
    setGeolocation: (id, geolocation, updatedAt) => notified(id, pipelines.setGeolocation(id, geolocation, updatedAt), hub.changed),
    remove: (id) => notified(id, pipelines.remove(id), hub.removed),
  }
}
