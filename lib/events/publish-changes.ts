import type { PipelineRepository } from '../repositories.ts'
import type { EventHub } from './hub.ts'

/** A repository that tells the hub of every change it makes. */
export const withEvents = (pipelines: PipelineRepository, hub: Pick<EventHub, 'changed' | 'removed'>): PipelineRepository => {
  const told = async <T>(id: string, change: Promise<T>, tell: (id: string) => void): Promise<T> => {
    const result = await change
    if (result !== false) tell(id)
    return result
  }
  return {
    ...pipelines,
    insert: (record) => told(record.config.id, pipelines.insert(record), hub.changed),
    replace: (id, change) => told(id, pipelines.replace(id, change), hub.changed),
    setGeolocation: (id, geolocation, updatedAt) => told(id, pipelines.setGeolocation(id, geolocation, updatedAt), hub.changed),
    remove: (id) => told(id, pipelines.remove(id), hub.removed),
  }
}
