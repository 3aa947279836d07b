import * as v from 'valibot'
import { isConnectionLoss } from '../lib/engine/caller.ts'
import type { Cameras } from '../lib/engine/protocol.ts'
import { CAMERA_EVENTS } from '../lib/openapi/answers.ts'
import { CAMERA, CAMERA_CAPABILITIES, CAMERA_STREAMS, NETWORK_CAMERA } from '../lib/openapi/examples.ts'
import { eventsAnswer, jsonAnswer } from '../lib/openapi/operation.ts'
import {
  cameraAccessSchema,
  cameraCapabilitiesSchema,
  cameraQuerySchema,
  cameraSchema,
  cameraSearchSchema,
  cameraStreamsSchema,
  networkCameraSchema,
} from '../lib/schema/camera.ts'
import { validate } from '../lib/validate.ts'
import type { EventDeps } from './events.ts'
import { readJson, readOptionalJson } from './http/body.ts'
import { readQuery } from './http/query.ts'
import { json } from './http/respond.ts'
import { type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'
import { clientOf, eventStream } from './http/streams/sse.ts'

export interface CameraRouteDeps extends Pick<EventDeps, 'events' | 'cameraWatch' | 'streams'> {
  readonly cameras: Pick<Cameras, 'list' | 'capabilities' | 'search' | 'streams'>
}

/** The cameras of the host: list, capabilities, and events when one is added or removed; those of its networks, by ONVIF. */
export const cameraRoutes = ({ cameras, cameraWatch, events, streams }: CameraRouteDeps) => [
  route({
    method: 'GET',
    path: '/svc/cameras',
    access: 'session',
    operation: 'listCameras',
    summary: 'List the cameras attached to the host',
    description: 'A camera with several nodes is listed once.',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    answer: jsonAnswer('The cameras', v.array(cameraSchema), { one: [CAMERA] }),
    handle: async () => json(await cameras.list()),
  }),
  route({
    method: 'GET',
    path: '/svc/camera',
    access: 'session',
    operation: 'getCamera',
    summary: 'Read the capabilities of a camera: formats, sizes and frame rates',
    description: 'Formats, sizes and frame rates as the driver reports them, the largest first.',
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    query: cameraQuerySchema,
    answer: jsonAnswer('The capabilities of the camera', cameraCapabilitiesSchema, { webcam: CAMERA_CAPABILITIES }),
    handle: async ({ url }) => {
      return json(await cameras.capabilities(validate(cameraQuerySchema, readQuery(url, ['path']), 'query')))
    },
  }),
  route({
    method: 'POST',
    path: '/svc/cameras/search',
    access: 'session',
    operation: 'searchCameras',
    summary: 'Search the networks of the host for cameras (WS-Discovery, ONVIF)',
    description: 'Sends a multicast in each IPv4 network and waits for answers. Routers do not pass it on.',
    status: 200,
    errors: ['PAYLOAD_TOO_LARGE', 'SERVICE_UNAVAILABLE'],
    body: { schema: cameraSearchSchema, optional: true, examples: { longer: { seconds: 5 } } },
    answer: jsonAnswer('The cameras that answered', v.array(networkCameraSchema), { one: [NETWORK_CAMERA] }),
    handle: async ({ request }) => json(await cameras.search(validate(cameraSearchSchema, await readOptionalJson(request), 'search'))),
  }),
  route({
    method: 'POST',
    path: '/svc/cameras/streams',
    access: 'session',
    operation: 'readCameraStreams',
    summary: 'Read the streams of a camera in the network (ONVIF)',
    description:
      'User and password are those of the camera. They go to no other host and are not stored. Put them into the uri of a stream for a pipeline.',
    status: 200,
    errors: ['PAYLOAD_TOO_LARGE', 'ENGINE_ERROR', 'SERVICE_UNAVAILABLE'],
    body: { schema: cameraAccessSchema, examples: { one: { address: '10.0.0.5', user: 'viewer', password: 'correct horse' } } },
    answer: jsonAnswer('The camera and its streams', cameraStreamsSchema, { one: CAMERA_STREAMS }),
    handle: async ({ request }) => json(await cameras.streams(validate(cameraAccessSchema, await readJson(request), 'camera'))),
  }),
  route({
    method: 'GET',
    path: '/svc/cameras/events',
    access: 'session',
    operation: 'followCameras',
    summary: 'Server-Sent Events of the cameras: camera_added, camera_removed',
    description: '503 on hosts where cameras cannot be watched.',
    status: 200,
    errors: ['RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
    answer: eventsAnswer('Events of the cameras', CAMERA_EVENTS),
    handle: async (exchange) => {
      // Throws SERVICE_UNAVAILABLE on hosts without camera discovery; otherwise no change after the answer is missed.
      await beginWatch(cameraWatch, cameras)
      return eventStream({
        ...clientOf(exchange, streams),
        feed: events.feed,
        filter: ({ event }) => event.startsWith('camera_'),
      })
    },
  }),
]

/** Streams do not wait for an engine that is being started or replaced, but the list does. */
const beginWatch = async (cameraWatch: EventDeps['cameraWatch'], cameras: CameraRouteDeps['cameras']): Promise<void> => {
  try {
    await cameraWatch.begin()
  } catch (error) {
    if (!isConnectionLoss(error)) throw error
    await cameras.list()
    await cameraWatch.begin()
  }
}

/** The camera operations alone, for embedding. */
export const createCameraHandlers = (deps: CameraRouteDeps & RouterDeps): FetchHandler => createRouter(cameraRoutes(deps), deps).fetch
