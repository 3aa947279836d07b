import * as v from 'valibot'
import type { Cameras } from '../lib/engine/protocol.ts'
import { CAMERA_EVENTS } from '../lib/openapi/answers.ts'
import { CAMERA, CAMERA_CAPABILITIES } from '../lib/openapi/examples.ts'
import { eventsAnswer, jsonAnswer } from '../lib/openapi/operation.ts'
import { cameraCapabilitiesSchema, cameraQuerySchema, cameraSchema } from '../lib/schema/camera.ts'
import { validate } from '../lib/validate.ts'
import { clientOf, type EventDeps } from './events.ts'
import { readQuery } from './http/query.ts'
import { json } from './http/respond.ts'
import type { FetchHandler, Route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'
import { eventStream } from './http/sse.ts'

export interface CameraRouteDeps extends Pick<EventDeps, 'events' | 'cameraWatch'> {
  readonly cameras: Pick<Cameras, 'list' | 'capabilities'>
}

/** The cameras of the host: which there are, what one can do, and which come and go. */
export const cameraRoutes = ({ cameras, cameraWatch, events }: CameraRouteDeps): readonly Route[] => [
  {
    method: 'GET',
    path: '/svc/cameras',
    access: 'session',
    operation: 'listCameras',
    summary: 'List the cameras attached to the host',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    answer: jsonAnswer('The cameras', v.array(cameraSchema), { one: [CAMERA] }),
    handle: async () => json(await cameras.list()),
  },
  {
    method: 'GET',
    path: '/svc/camera',
    access: 'session',
    operation: 'getCamera',
    summary: 'What a camera can do: its formats with their sizes and frame rates',
    status: 200,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    query: cameraQuerySchema,
    answer: jsonAnswer('What the camera can do', cameraCapabilitiesSchema, { webcam: CAMERA_CAPABILITIES }),
    handle: async ({ url }) => {
      return json(await cameras.capabilities(validate(cameraQuerySchema, readQuery(url, ['path']), 'query')))
    },
  },
  {
    method: 'GET',
    path: '/svc/cameras/events',
    access: 'session',
    operation: 'followCameras',
    summary: 'Server-Sent Events of the cameras: camera_added, camera_removed',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    answer: eventsAnswer('Events of the cameras', CAMERA_EVENTS),
    handle: async (exchange) => {
      // Who connects and then plugs in a camera is told; who asks a host that cannot tell learns why.
      await cameraWatch.begin()
      return eventStream({
        ...clientOf(exchange),
        feed: events.feed,
        filter: ({ event }) => event.startsWith('camera_'),
      })
    },
  },
]

/** The camera operations alone, for embedding. */
export const createCameraHandlers = (deps: CameraRouteDeps & RouterDeps): FetchHandler => createRouter(cameraRoutes(deps), deps)
