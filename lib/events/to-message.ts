import type { EngineEvent } from '../engine/messages.ts'
import { redact } from '../redact.ts'
import type { NewEvent } from './feed.ts'

/** An engine event as clients receive it; undefined for one that they do not. */
export const toMessage = (event: EngineEvent): NewEvent | undefined => {
  switch (event.type) {
    case 'klv':
      return { event: 'klv', pipelineId: event.id, data: event.packet, frequent: true }
    case 'camera_added':
    case 'camera_removed': {
      const { type, ...data } = event
      return { event: type, pipelineId: undefined, data }
    }
    case 'pipeline_error': {
      const { id, message, code, cause, reason } = event
      const data = { pipeline_id: id, message: redact(message), code, cause: redact(cause), reason }
      return { event: 'pipeline_error', pipelineId: id, data }
    }
    default:
      return undefined
  }
}
