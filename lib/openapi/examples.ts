/** The examples of the API document; a test checks each against its schema. */

const TIME = '2026-11-20T10:00:00.000Z'

export const SIMPLE_PIPELINE = {
  id: 'gate',
  mode: 'simple',
  source: { uri: 'rtsp://10.0.0.5/stream1', latency_ms: 100 },
  encoding: { codec: 'h264', bitrate: 1500, width: 1280, height: 720, fps: 25 },
  push: [{ uri: 'srt://ground.example:9000?passphrase=correct-horse-battery' }],
}

export const TEST_PIPELINE = { id: 'first', mode: 'simple', source: { uri: 'test://ball' } }

export const ADVANCED_PIPELINE = {
  id: 'own',
  mode: 'advanced',
  on_demand: true,
  raw_pipeline: 'videotestsrc is-live=true ! x264enc tune=zerolatency ! rtph264pay name=pay0',
}

export const REPRESENTED_PIPELINE = {
  id: 'gate',
  mode: 'simple',
  on_demand: false,
  state: 'playing',
  source: { uri: 'rtsp://10.0.0.5/stream1', latency_ms: 100 },
  encoding: { codec: 'h264', bitrate: 1500, width: 1280, height: 720, fps: 25, quality: 7 },
  output: { uri: 'rtsp://0.0.0.0:50000/gate' },
  klv: { available: false },
  klv_config: { pass_klv: false, auto_extract_geolocation: false, synchronous: false },
  audio: 'copy',
  audio_bitrate: null,
  push: [{ uri: 'srt://ground.example:9000?passphrase=***' }],
  geolocation: { latitude: 60.1768, longitude: 128.4268, altitude: 14190.7, heading: null },
  screenshots: { state: 'stopped', interval_seconds: 10, quality: 85 },
  recording: { state: 'recording', since: TIME, last_error: null },
  runtime: {
    phase: 'playing',
    desired: 'playing',
    since: TIME,
    restarts: 0,
    next_retry_at: null,
    last_error: null,
    readers: 2,
    frames: 1500,
    fps: 25,
    bitrate_kbps: 1498.2,
    last_frame_age_ms: 12,
    video: { codec: 'h264', width: 1280, height: 720, fps: 25 },
    audio: { codec: 'aac', rate: 48000, channels: 2, carried: true, reason: null },
    push: [{ uri: 'srt://ground.example:9000?passphrase=***', state: 'sending', since: TIME, last_error: null, bytes: 8123456 }],
  },
  ephemeral: false,
  created_at: TIME,
  updated_at: TIME,
}

export const FLEET_HOST = {
  host: 'gate-b',
  labels: { site: 'north' },
  version: '1.0.0',
  at: TIME,
  desired_revision: 12,
  applied_revision: 12,
  error: null,
  drift: [{ id: 'gate', kind: 'changed', fields: ['source.uri'] }],
  health: {
    status: 'ok',
    engine: 'ok',
    database: 'ok',
    uptime_seconds: 86400,
    pipelines: { total: 1, playing: 1 },
    fleet: 'linked',
  },
  pipelines: [{ id: 'gate', state: 'playing', phase: 'playing', updated_at: TIME }],
  linked: true,
}

export const FLEET_ANSWER = { status: 200, headers: { 'content-type': 'application/json' }, body: REPRESENTED_PIPELINE }

export const GEOLOCATION_PATCH = { geolocation: { latitude: 60.1768, longitude: 128.4268, altitude: 14190.7, heading: 90 } }

export const HEALTH = {
  status: 'ok',
  engine: 'ok',
  database: 'ok',
  uptime_seconds: 3600,
  pipelines: { total: 4, playing: 3 },
  fleet: 'off',
}

export const TEST_REPORT = {
  start_ms: 640,
  video: { codec: 'h264', width: 1920, height: 1080, fps: 25 },
  audio: { codec: 'aac', rate: 48_000, channels: 2, carried: true, reason: null },
  bitrate_kbps: 4096,
  klv: false,
  picture: '/9j/4AAQSkZJRgABAQAAAQABAAD/2Q==',
} as const

export const VERSION = {
  name: 'video-pipeline-service',
  version: '0.1.0',
  api_version: '1',
  engine: { name: 'gstreamer', version: '1.22.0' },
}

export const SESSION = { token: 'hTmFcE3Hq0mWjBq1T0K8Yw2bqg5dV9nXxJr4sLZkO7A', expires: '2026-11-21T10:00:00.000Z' }

export const RECORDED_SPAN = {
  pipeline_id: 'gate',
  from: '2026-11-20T09:30:00.000Z',
  to: '2026-11-20T10:30:00.000Z',
  bytes: 1_800_000_000,
  tracks: ['h264', 'aac', 'klv'],
}

export const SCREENSHOT = {
  file: 'gate_20261120T100000000Z.jpg',
  pipeline_id: 'gate',
  created_at: TIME,
  size_bytes: 183204,
  width: 1280,
  height: 720,
  geolocation: null,
  url: '/svc/files/screenshots/gate_20261120T100000000Z.jpg',
}

export const KLV_PACKET = {
  pipeline_id: 'uav-1',
  received_at: TIME,
  age_ms: 87,
  stale: false,
  timestamp: '2008-10-24T00:13:29.913Z',
  checksum_ok: true,
  values: { sensor_latitude: 60.1768, sensor_longitude: 128.4268 },
  items: [{ tag: 13, name: 'Sensor Latitude', value: 60.1768, unit: 'deg', raw: '5595b66d' }],
}

export const KLV_FEATURE = {
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [128.4268, 60.1768, 14190.7] },
  properties: { pipeline_id: 'uav-1', received_at: TIME, stale: false },
}

export const KLV_FOOTPRINT = {
  type: 'Feature',
  geometry: {
    type: 'Polygon',
    coordinates: [
      [
        [29.1, -10.6],
        [29.2, -10.6],
        [29.2, -10.5],
        [29.1, -10.5],
        [29.1, -10.6],
      ],
    ],
  },
  properties: { method: 'corners', pipeline_id: 'uav-1', received_at: TIME, stale: false },
}

export const COT_EVENT =
  '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<event version="2.0" uid="uav-1" type="a-f-A-M-F-Q" how="m-g" time="2026-11-20T10:00:00.000Z" start="2026-11-20T10:00:00.000Z" stale="2026-11-20T10:00:10.000Z"><point lat="60.1768000" lon="128.4268000" hae="14190.70" ce="9999999.0" le="9999999.0"/><detail><contact callsign="uav-1"/><sensor azimuth="320.69" fov="14.50" range="6859.0"/><__video url="rtsp://192.0.2.7:50000/uav-1"/></detail></event>'

const CAMERA_IDENTITY = {
  device_path: '/dev/video0',
  device_paths: ['/dev/video0'],
  device_name: 'HD Pro Webcam',
  driver: 'uvcvideo',
  bus_info: 'usb-0000:00:14.0-1',
  serial: 'Maker_HD_Pro_Webcam_0A1B2C3D',
}

export const CAMERA = { ...CAMERA_IDENTITY, formats: 1 }

export const CAMERA_CAPABILITIES = {
  ...CAMERA_IDENTITY,
  formats: [
    {
      encoding: 'mjpeg',
      media_type: 'image/jpeg',
      pixel_format: null,
      device_path: '/dev/video0',
      sizes: [{ width: 1920, height: 1080, frame_rates: [30, 15], frame_rate_range: null, size_range: null }],
    },
  ],
}

export const NETWORK_CAMERA = { address: 'http://10.0.0.5/onvif/device_service', name: 'Gate', hardware: 'DS-2CD2143', location: null }

export const CAMERA_STREAMS = {
  manufacturer: 'Example',
  model: 'DS-2CD2143',
  firmware: 'V5.7.3',
  streams: [
    {
      name: 'mainStream',
      uri: 'rtsp://10.0.0.5:554/Streaming/Channels/101',
      codec: 'h265',
      width: 2560,
      height: 1440,
      fps: 25,
      bitrate_kbps: 4096,
      audio: 'aac',
    },
  ],
}

export const LOG_LINE = { at: TIME, run: 1, stream: 'stderr', line: 'ERROR: from element /GstPipeline:pipeline0/GstRTSPSrc:src: Not found' }

export const RATE_SAMPLE = { at: TIME, fps: 25, bitrate_kbps: 1480, readers: 2, last_frame_age_ms: 21 }

/** Example messages of errors by code. */
export const ERROR_MESSAGES = {
  VALIDATION_ERROR: 'The pipeline is not valid at source.uri. Use a complete stream address such as rtsp://host:554/path.',
  UNAUTHORIZED:
    'Authentication is required. Send the token of a login in the header Authorization (Bearer), or the API key in the header X-API-Key.',
  LICENSE_ERROR: 'The license does not cover the codec h265. Use another codec or extend the license.',
  LICENSE_LIMIT_EXCEEDED: 'The license allows 4 running pipelines. Stop one or extend the license.',
  FORBIDDEN:
    'Pages of http://other.example may not change anything here. Add their origin to SVC_CORS_ORIGINS, or send the API key; if it is the origin of this service behind a reverse proxy, set SVC_TRUST_PROXY=1.',
  NOT_FOUND: 'No pipeline has the id gate. List the pipelines, or create it.',
  METHOD_NOT_ALLOWED: 'Method not allowed; use GET or HEAD.',
  NOT_ACCEPTABLE:
    'The video is H.265, which the offer does not take. Use a player that offers H265, or set encoding.codec of the pipeline to "h264".',
  CONFLICT: 'The pipeline "gate" is running. Stop it first.',
  PRECONDITION_FAILED:
    'If-Match does not name the current ETag of the pipeline, which has changed since. Read it again, then repeat your change.',
  PAYLOAD_TOO_LARGE: 'The body is larger than 1048576 bytes. Send a smaller one.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is compressed. Send it as it is, without Content-Encoding.',
  UNPROCESSABLE_CONTENT: 'ICE cannot be restarted here. End this session and begin another one.',
  PRECONDITION_REQUIRED: 'Send the ETag of the session, which came with its 201, as If-Match.',
  RATE_LIMITED: 'Too many requests. Try again in 17 s.',
  ENGINE_ERROR:
    'The pipeline could not start. The source requires a user name and password, or rejects those in source.uri (401). Correct source.uri.',
  INTERNAL_ERROR: 'The service failed. Search its log for the request id.',
  NOT_IMPLEMENTED: 'WebRTC is turned off here (SVC_WEBRTC_PORT=0). Use /video, stream.ts or RTSP instead.',
  SERVICE_UNAVAILABLE: 'The media engine is not available right now. Try again in a moment.',
  PIPELINE_START_TIMEOUT: 'The pipeline did not start within 10 s. No video came within 10 s. Check that the source sends video now.',
} as const

/** Example details by code. */
export const ERROR_DETAILS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  VALIDATION_ERROR: {
    issues: [{ path: 'source.uri', message: 'Use a complete stream address such as rtsp://host:554/path' }],
  },
  FORBIDDEN: { reason: 'cross_origin' },
  NOT_ACCEPTABLE: { reason: 'codec' },
  CONFLICT: { reason: 'running' },
  UNPROCESSABLE_CONTENT: { reason: 'ice_restart' },
  NOT_IMPLEMENTED: { reason: 'no_webrtc' },
  PRECONDITION_FAILED: { reason: 'changed' },
  ENGINE_ERROR: {
    cause: 'The source requires a user name and password, or rejects those in source.uri (401). Correct source.uri.',
    reason: 'unauthorized',
  },
  PAYLOAD_TOO_LARGE: { limit_bytes: 1048576 },
  RATE_LIMITED: { retry_after_seconds: 17 },
  INTERNAL_ERROR: { request_id: 'e3a1f0c2-5b7d-4c1e-9f57-2f0d8a6b9c44' },
  SERVICE_UNAVAILABLE: { reason: 'engine_unavailable' },
  PIPELINE_START_TIMEOUT: { cause: 'No video came within 10 s. Check that the source sends video now.', reason: 'timeout' },
}

/** FORBIDDEN of an operation that changes nothing, which pages of other origins may call. */
export const UNKNOWN_HOST = {
  message:
    'The host name video.example.org is not known, and no password is set. Add it to SVC_ALLOWED_HOSTS, set a password, or use localhost or an IP address.',
  code: 'FORBIDDEN',
  details: { reason: 'unknown_host' },
}
