import type { apiRoutes } from '../app.ts'

/** The calls of all routes; `route` of handlers/http/route.ts types each of them. */
type ApiCall = NonNullable<ReturnType<typeof apiRoutes>[number]['call']>

/** Every operation of the API by its operationId. */
export type Operations = { readonly [C in ApiCall as C['operation']]: C }

/**
 * Method and path of every operation, then the additional statuses that are no errors, or `events`. The types follow from the
 * routes, so that no other text compiles.
 */
export const OPERATIONS: { readonly [Name in keyof Operations]: Operations[Name]['line'] } = {
  getHealth: 'GET /svc/health 503',
  probe: 'GET /svc/healthz 503',
  getVersion: 'GET /svc/version',
  getAuthStatus: 'GET /svc/auth/status',
  login: 'POST /svc/auth/login',
  logout: 'POST /svc/auth/logout',
  setPassword: 'PUT /svc/auth/password',
  removePassword: 'DELETE /svc/auth/password',
  listPipelines: 'GET /svc/pipeline',
  createPipeline: 'POST /svc/pipeline',
  validatePipeline: 'POST /svc/pipeline/validate',
  getPipeline: 'GET /svc/pipeline/:id',
  getPipelineStatus: 'GET /svc/pipeline/:id/status',
  replacePipeline: 'PUT /svc/pipeline/:id',
  patchPipeline: 'PATCH /svc/pipeline/:id',
  deletePipeline: 'DELETE /svc/pipeline/:id',
  playPipeline: 'PUT /svc/pipeline/:id/play',
  stopPipeline: 'PUT /svc/pipeline/:id/stop',
  getSettings: 'GET /svc/settings',
  changeSettings: 'PUT /svc/settings',
  publishStream: 'PUT /svc/triggers/mediaServer/publish',
  unpublishStream: 'DELETE /svc/triggers/mediaServer/publish',
  startScreenshots: 'PUT /svc/pipeline/:id/screenshots/start',
  stopScreenshots: 'PUT /svc/pipeline/:id/screenshots/stop',
  getSnapshot: 'GET /svc/pipeline/:id/snapshot 304',
  getVideo: 'GET /svc/pipeline/:id/video',
  getTransportStream: 'GET /svc/pipeline/:id/stream.ts',
  startKlv: 'PUT /svc/pipeline/:id/klv/start',
  stopKlv: 'PUT /svc/pipeline/:id/klv/stop',
  getKlv: 'GET /svc/pipeline/:id/klv',
  followKlv: 'GET /svc/pipeline/:id/klv/events events',
  listCameras: 'GET /svc/cameras',
  getCamera: 'GET /svc/camera',
  followCameras: 'GET /svc/cameras/events events',
  listScreenshots: 'GET /svc/files/screenshots',
  deleteScreenshots: 'DELETE /svc/files/screenshots',
  getScreenshot: 'GET /svc/files/screenshots/:file 304',
  deleteScreenshot: 'DELETE /svc/files/screenshots/:file',
  followPipeline: 'GET /svc/pipeline/:id/status/events events',
  followEverything: 'GET /svc/events events',
  getPipelineLog: 'GET /svc/pipeline/:id/log',
  getMetrics: 'GET /svc/metrics',
}
