// Checks that imports follow ROOMS, and bundles the service with esbuild.
//   node build.mjs           dist/dashboard, dist/handlers/<group>.js, dist/app.js, dist/worker.js (neutral), dist/node.js, dist/service.js, dist/engine.js, dist/cli.js … (Node)
//   node build.mjs --check   only the layer check
//   node build.mjs --declarations   dist/types, for programs that embed the package
//   node build.mjs --start   builds, then runs dist/node.js in this process (npm run dev)
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = dirname(fileURLToPath(import.meta.url))

/** Endpoint groups: the files of handlers/ itself, one bundle each. */
const NOT_A_GROUP = ['handlers/app.ts']

/** What every page of the dashboard may import. */
const PAGE_GROUND = ['handlers/client', ...['api', 'ui', 'words'].map((room) => `handlers/dashboard/page/${room}`)]

/**
 * The rooms, and what each may import besides its own files. A room is a folder, or a single file. `x` is the room x, `x/` also
 * the rooms inside it.
 */
export const ROOMS = {
  // Endpoint groups and the application; HTTP; pages; hosts.
  handlers: ['handlers/fleet', 'handlers/http', 'handlers/http/streams', 'lib/'],
  'handlers/fleet': ['handlers/http', 'lib/'],
  'handlers/http': ['lib/'],
  'handlers/http/streams': ['handlers/http', 'lib/'],
  'handlers/pages': ['handlers/http', 'lib/'],
  'handlers/dashboard': ['handlers/http', 'handlers/pages', 'lib/'],
  // The page runs in a browser. Of the API it uses the types and the format of live video.
  'handlers/dashboard/page': ['handlers/dashboard/page/'],
  'handlers/dashboard/page/overview': [
    ...PAGE_GROUND,
    'handlers/dashboard/page/cards',
    'handlers/dashboard/page/player',
    'handlers/dashboard/page/screens',
  ],
  'handlers/dashboard/page/cameras': PAGE_GROUND,
  'handlers/dashboard/page/map': [...PAGE_GROUND, 'lib/segments'],
  'handlers/dashboard/page/hosts': [...PAGE_GROUND, 'handlers/dashboard/page/cards'],
  'handlers/dashboard/page/cards': ['handlers/dashboard/page/ui', 'handlers/dashboard/page/words'],
  'handlers/dashboard/page/timeline': [...PAGE_GROUND, 'handlers/dashboard/page/klv', 'handlers/dashboard/page/map', 'lib/segments'],
  'handlers/dashboard/page/klv': [...PAGE_GROUND, 'handlers/dashboard/page/player'],
  'handlers/dashboard/page/pipeline': [
    ...PAGE_GROUND,
    'handlers/dashboard/page/klv',
    'handlers/dashboard/page/map',
    'handlers/dashboard/page/player',
    'handlers/dashboard/page/screens',
    'handlers/dashboard/page/sound',
    'handlers/dashboard/page/timeline',
  ],
  'handlers/dashboard/page/forms': PAGE_GROUND,
  'handlers/dashboard/page/settings': PAGE_GROUND,
  'handlers/dashboard/page/player': [
    'handlers/dashboard/page/api',
    'handlers/dashboard/page/screens',
    'handlers/dashboard/page/sound',
    'handlers/dashboard/page/ui',
    'lib',
    'lib/st0601',
  ],
  'handlers/dashboard/page/screens': ['lib'],
  'handlers/dashboard/page/sound': ['handlers/dashboard/page/screens', 'lib'],
  'handlers/dashboard/page/words': ['handlers/dashboard/page/api'],
  'handlers/dashboard/page/ui': ['handlers/dashboard/page/api', 'handlers/dashboard/page/words', 'lib/segments'],
  'handlers/dashboard/page/api': ['handlers/client', 'lib', 'lib/schema'],
  'handlers/node': [
    'handlers',
    'handlers/client',
    'handlers/declared',
    'handlers/dashboard',
    'handlers/http',
    'handlers/pages',
    'handlers/node/declared',
    'handlers/node/fleet',
    'handlers/node/link',
    'handlers/node/server',
    'handlers/node/storage',
    'db/',
    'lib/',
    'package.json',
  ],
  'handlers/node/declared': ['handlers', 'handlers/client', 'handlers/declared', 'lib/'],
  'handlers/node/server': ['handlers/http', 'handlers/http/streams', 'handlers/pages', 'lib/'],
  'handlers/node/link': ['lib/'],
  'handlers/node/fleet': [
    'handlers',
    'handlers/client',
    'handlers/declared',
    'handlers/http',
    'handlers/http/streams',
    'handlers/node/nats',
    'handlers/node/storage',
    'lib/',
  ],
  'handlers/node/nats': ['lib/'],
  'handlers/node/storage': ['db/', 'lib/'],
  'handlers/worker': ['handlers', 'handlers/http', 'db/', 'lib/', 'package.json'],
  'handlers/client': ['handlers', 'lib/'],
  'handlers/cli': [
    'handlers',
    'handlers/cli/command-line',
    'handlers/cli/fleet',
    'handlers/cli/recordings',
    'handlers/cli/terminal',
    'handlers/cli/verbs',
    'handlers/client',
    'lib/',
    'package.json',
  ],
  'handlers/declared': ['handlers/client', 'lib/'],
  'handlers/cli/verbs': ['handlers/cli/command-line', 'handlers/cli/terminal', 'handlers/client', 'handlers/declared', 'lib/'],
  'handlers/cli/fleet': [
    'handlers/cli/command-line',
    'handlers/cli/terminal',
    'handlers/cli/verbs',
    'handlers/client',
    'handlers/declared',
    'handlers/node/nats',
    'lib/',
  ],
  'handlers/cli/recordings': ['handlers/cli/command-line', 'handlers/cli/terminal', 'lib/'],
  'handlers/cli/command-line': ['handlers/cli/terminal', 'handlers/client', 'handlers/declared', 'lib/'],
  'handlers/cli/terminal': ['handlers/client', 'lib/'],

  // The ground: ports, errors, configuration.
  lib: ['lib/json'],
  'lib/json': [],
  'lib/uri': ['lib'],
  'lib/console': ['lib'],
  'lib/log': ['lib'],
  'lib/process': [],
  'lib/st0601': ['lib/schema'],
  'lib/schema': ['lib', 'lib/json', 'lib/uri'],
  'lib/configuration': ['lib/console', 'lib', 'lib/log'],
  'lib/repositories': ['lib', 'lib/schema'],
  'lib/credentials': ['lib', 'lib/schema', 'lib/uri'],
  'lib/engine': ['lib', 'lib/schema', 'lib/segments'],
  'lib/access': ['lib', 'lib/configuration', 'lib/repositories', 'lib/schema'],
  'lib/openapi': ['lib', 'lib/access', 'lib/json', 'lib/schema'],
  'lib/license': ['lib', 'lib/engine', 'lib/schema'],
  'lib/settings': ['lib', 'lib/credentials', 'lib/engine', 'lib/json', 'lib/repositories', 'lib/schema'],
  'lib/health': ['lib', 'lib/engine', 'lib/license', 'lib/repositories', 'lib/schema'],
  'lib/pipelines': [
    'lib',
    'lib/credentials',
    'lib/engine',
    'lib/json',
    'lib/license',
    'lib/repositories',
    'lib/schema',
    'lib/settings',
    'lib/uri',
  ],
  'lib/fleet': ['lib', 'lib/configuration', 'lib/health', 'lib/schema'],
  'lib/segments': ['lib', 'lib/json', 'lib/schema'],
  'lib/recordings': ['lib', 'lib/engine', 'lib/pipelines', 'lib/repositories', 'lib/schema', 'lib/segments'],
  'lib/triggers': ['lib', 'lib/engine', 'lib/pipelines', 'lib/repositories', 'lib/schema', 'lib/settings', 'lib/uri'],
  'lib/webhooks': ['lib', 'lib/access', 'lib/credentials', 'lib/events', 'lib/repositories', 'lib/schema', 'lib/uri'],
  'lib/events': ['lib', 'lib/engine', 'lib/pipelines', 'lib/repositories', 'lib/schema', 'lib/settings'],

  // The sidecar, from its entry to the standards.
  engine: ['engine/', 'lib/', 'package.json'],
  'engine/http': [
    'engine/cameras',
    'engine/cameras/onvif',
    'engine/cot',
    'engine/faults',
    'engine/klv',
    'engine/klv/footprint',
    'engine/live',
    'engine/pipelines',
    'engine/recordings',
    'engine/recordings/playback',
    'engine/sandbox',
    'engine/screenshots/files',
    'lib/',
  ],
  'engine/metrics': ['engine/cot', 'engine/klv', 'engine/pipelines', 'engine/push', 'lib/'],
  'engine/pipelines': [
    'engine/faults',
    'engine/formats',
    'engine/klv',
    'engine/launch',
    'engine/live',
    'engine/mount',
    'engine/outputs',
    'engine/play',
    'engine/push',
    'engine/recordings',
    'engine/rtp',
    'engine/rtsp/publisher',
    'engine/screenshots',
    'engine/webrtc',
    'lib/',
  ],
  'engine/play': [
    'engine/mount',
    'engine/codec',
    'engine/faults',
    'engine/fetch',
    'engine/gst',
    'engine/ingest',
    'engine/ingest/demux',
    'engine/ingest/flv',
    'engine/klv',
    'engine/launch',
    'engine/mpegts',
    'engine/outputs',
    'engine/rtp',
    'engine/rtsp/client',
    'engine/sources',
    'lib/',
  ],
  'engine/launch': [
    'engine/mount',
    'engine/cameras',
    'engine/faults',
    'engine/gst',
    'engine/ingest',
    'engine/rtp',
    'engine/rtsp/client',
    'engine/rtsp/protocol',
    'engine/sandbox',
    'engine/sources',
    'lib/',
  ],
  'engine/ingest/flv': ['engine/codec/audio', 'engine/ingest/demux', 'engine/rtp', 'engine/rtp/repair'],
  'engine/ingest/demux': ['engine/codec', 'engine/codec/audio', 'engine/mpegts', 'engine/rtp', 'engine/rtp/packet', 'engine/rtp/repair'],
  'engine/ingest': [
    'engine/codec/audio',
    'engine/faults',
    'engine/gst',
    'engine/rtp',
    'engine/rtp/packet',
    'engine/rtp/repair',
    'engine/rtsp/client',
    'engine/rtsp/protocol',
    'lib/',
  ],
  'engine/fetch': ['engine/faults'],
  'engine/hls': ['engine/faults', 'engine/fetch', 'engine/rtsp/client'],
  'engine/sources': [
    'engine/cameras',
    'engine/codec',
    'engine/faults',
    'engine/fetch',
    'engine/hls',
    'engine/gst',
    'engine/sandbox',
    'engine/rtsp/client',
    'engine/rtsp/protocol',
    'engine/sources/camera',
    'lib/',
  ],
  'engine/sources/camera': ['engine/cameras', 'engine/faults', 'engine/gst', 'lib/'],
  'engine/push': [
    'engine/faults',
    'engine/fetch',
    'engine/formats',
    'engine/gst',
    'engine/mount',
    'engine/rtp',
    'engine/rtp/packet',
    'engine/rtsp/client',
    'engine/rtsp/protocol',
    'engine/rtsp/publisher',
    'engine/rtsp/publisher/sinks',
    'engine/sandbox',
    'engine/sources',
    'lib/',
  ],
  'engine/recordings': [
    'db/connect',
    'db/recordings',
    'engine/codec',
    'engine/formats',
    'engine/klv/footprint',
    'engine/mpegts',
    'engine/rtp',
    'engine/screenshots/files',
    'lib/',
  ],
  'engine/recordings/playback': [
    'db/recordings',
    'engine/mpegts',
    'engine/recordings',
    'engine/recordings/playback/mp4',
    'engine/screenshots/decode',
    'lib/',
  ],
  'engine/recordings/playback/mp4': ['engine/codec/audio', 'engine/mpegts', 'lib/'],
  'engine/cot': ['lib/'],
  'engine/cameras': ['engine/gst', 'lib/'],
  'engine/cameras/onvif': ['engine/faults', 'engine/fetch', 'engine/rtsp/client', 'lib/'],
  'engine/outputs': ['engine/faults', 'engine/mount', 'engine/rtp', 'engine/rtsp/access', 'engine/rtsp/publisher', 'lib/'],
  'engine/live': ['engine/codec', 'engine/codec/audio', 'engine/formats', 'engine/mount', 'engine/mpegts', 'engine/rtp', 'lib/'],
  'engine/webrtc': [
    'engine/codec',
    'engine/formats',
    'engine/live',
    'engine/mount',
    'engine/rtp',
    'engine/rtp/packet',
    'engine/rtp/repair',
    'lib/',
  ],
  'engine/formats': ['engine/codec', 'engine/codec/audio', 'engine/mount', 'engine/mpegts', 'engine/rtp'],
  'engine/mount': ['engine/codec', 'engine/codec/audio', 'engine/rtp', 'engine/rtp/packet', 'lib/'],
  'engine/screenshots': ['engine/rtp', 'engine/screenshots/decode', 'engine/screenshots/files', 'lib/'],
  'engine/screenshots/decode': ['engine/gst', 'engine/rtp', 'engine/screenshots/jpeg', 'lib/'],
  'engine/screenshots/files': ['engine/screenshots/jpeg', 'lib/'],
  'engine/screenshots/jpeg': ['lib/schema'],
  'engine/klv': ['engine/klv/footprint', 'engine/mpegts', 'engine/rtp', 'engine/rtp/packet', 'lib/'],
  'engine/klv/footprint': ['lib', 'lib/st0601'],
  'engine/rtsp/publisher': [
    'engine/mount',
    'engine/rtp',
    'engine/rtp/packet',
    'engine/rtsp/access',
    'engine/rtsp/protocol',
    'engine/rtsp/publisher/sinks',
    'lib/',
  ],
  'engine/rtsp/publisher/sinks': ['engine/mount', 'engine/rtp', 'engine/rtsp/protocol', 'engine/rtsp/udp'],
  'engine/rtsp/client': ['engine/faults', 'engine/rtsp/protocol', 'engine/rtsp/udp', 'lib/'],
  'engine/rtsp/access': ['engine/rtsp/protocol', 'lib/'],
  'engine/rtsp/protocol': [],
  'engine/rtsp/udp': [],
  'engine/rtp': ['engine/codec', 'engine/rtp/packet', 'engine/rtp/repair'],
  'engine/rtp/repair': ['engine/codec', 'engine/rtp/packet'],
  'engine/rtp/packet': [],
  'engine/codec': [],
  'engine/codec/audio': ['engine/codec'],
  'engine/mpegts': [],
  'engine/gst': ['engine/faults', 'engine/sandbox', 'lib/'],
  'engine/sandbox': ['lib/'],
  'engine/faults': ['lib', 'lib/credentials', 'lib/uri'],
  // It checks everything that a service needs, also its database.
  'engine/deploy/doctor': ['db', 'engine/gst', 'engine/push', 'engine/sandbox', 'engine/sources', 'lib/'],
  'engine/deploy/install': ['lib/'],
  'engine/deploy/package': ['engine/deploy/install', 'engine/deploy/system-packages.json', 'lib/engine', 'package.json'],

  db: ['db/connect', 'db/migrations', 'lib', 'lib/repositories', 'lib/schema'],
  'db/migrations': ['db/connect'],
  'db/recordings': ['db/connect', 'lib/segments'],
  'db/webhooks': ['db/connect', 'lib/repositories'],
  'db/connect': ['lib'],
}

/** Rooms that run on every fetch runtime or in a browser, and so import nothing of Node.js. */
const NEUTRAL = /^(lib\/(?!process\/)|db\/)|^engine\/klv\/(footprint|st0601)\/|^engine\/mpegts\/|^handlers\/(?!node\/|cli\/)/

/** Packages that only one file may import. */
const ONLY = [
  { package: 'execa', file: 'engine/gst/child.ts' },
  { package: 'node-datachannel', file: 'engine/webrtc/peer.ts' },
]

const MAX_FILES_PER_FOLDER = 15

const DASHBOARD = 'dist/dashboard'

const roomOf = (file) => [file, dirname(file)].find((place) => Object.hasOwn(ROOMS, place))

/** The first circle of a graph of imports, as `a → b → a`. */
const findCircle = (graph) => {
  const done = new Set()
  const visit = (node, path) => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return undefined
    for (const next of graph.get(node) ?? []) {
      const circle = visit(next, [...path, node])
      if (circle !== undefined) return circle
    }
    done.add(node)
    return undefined
  }
  for (const node of graph.keys()) {
    const circle = visit(node, [])
    if (circle !== undefined) return circle.join(' → ')
  }
  return undefined
}

const arrowViolation = (file, path) => {
  if (/^\.|^\//.test(path) || path.startsWith('node_modules')) return `${file} imports ${path}: not a file of this project`
  const [room, target] = [roomOf(file), roomOf(path) ?? path]
  if (room === undefined) return `${file} is in no room: give its folder a row in ROOMS of build.mjs`
  const allowed = ROOMS[room].some((entry) => (entry.endsWith('/') ? `${target}/`.startsWith(entry) : target === entry))
  return room === target || allowed ? undefined : `${file} imports ${path}: ${room} may not import ${target}`
}

const packageViolation = (file, name) => {
  if (name.startsWith('node:') && NEUTRAL.test(file)) return `${file} imports ${name}: this room runs on every runtime`
  const only = ONLY.find((rule) => rule.package === name)
  return only !== undefined && only.file !== file ? `${file} imports ${name}: only ${only.file} may` : undefined
}

/**
 * Violations of ROOMS by the imports of a tree, one line each.
 * @param imports a file's path → what it imports: paths of the project, `node:` modules and packages
 */
export const layerViolations = (imports) => {
  const isOurs = (name) => /^(handlers|lib|engine|db)\//.test(name) || name === 'package.json' || name.startsWith('.')
  const lines = [...imports].flatMap(([file, names]) =>
    [...names].flatMap((name) => (isOurs(name) ? arrowViolation(file, name) : packageViolation(file, name)) ?? []),
  )
  const files = new Map([...imports].map(([file, names]) => [file, [...names].filter((name) => imports.has(name))]))
  const places = new Map()
  for (const [file, names] of files) {
    const place = dirname(file)
    const others = names.map((name) => dirname(name)).filter((other) => other !== place)
    places.set(place, new Set([...(places.get(place) ?? []), ...others]))
  }
  for (const circle of [findCircle(files), findCircle(places)]) if (circle !== undefined) lines.push(`circle: ${circle}`)
  return lines
}

const sources = () =>
  ['handlers', 'lib', 'engine', 'db'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name))),
  )

const IMPORT = /^(?:import|export)\b[^'"]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm

/** Parsed from the text, since esbuild drops `import type`; biome keeps imports in this form. */
const importsOf = (file) => {
  const names = [...readFileSync(join(root, file), 'utf8').matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3])
  return names
    .filter((name) => !/\.(sql|css)$/.test(name))
    .map((name) => (name.startsWith('.') ? relative(root, join(root, dirname(file), name)) : name))
}

const checkLayers = () => {
  const files = sources()
  const perFolder = Map.groupBy(files, (file) => dirname(file))
  const crowded = [...perFolder].filter(([, list]) => list.length > MAX_FILES_PER_FOLDER)
  const empty = Object.keys(ROOMS).filter((room) => !files.some((file) => roomOf(file) === room))
  return [
    ...layerViolations(new Map(files.map((file) => [file, importsOf(file)]))),
    ...crowded.map(([folder, list]) => `${folder} holds ${list.length} files: at most ${MAX_FILES_PER_FOLDER}`),
    ...empty.map((room) => `ROOMS has a row for ${room}, which does not exist`),
  ]
}

const groups = () =>
  readdirSync(join(root, 'handlers'))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `handlers/${name}`)
    .filter((file) => !NOT_A_GROUP.includes(file))

const shared = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  target: 'es2024',
  outdir: 'dist',
  outbase: '.',
  metafile: true,
  sourcemap: 'linked',
  legalComments: 'none',
  loader: { '.sql': 'text' },
  logLevel: 'warning',
}

/** mediabunny reads files by node:fs on Node.js; here it gets streams alone. Its map for browsers says the same, which is read for browsers only. */
const WITHOUT_FILES = {
  name: 'without-files',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^\.\/node\.js$/ }, ({ importer }) =>
      importer.includes('/mediabunny/') ? { path: 'mediabunny-files', namespace: 'nothing' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'nothing' }, () => ({ contents: 'export {}' }))
  },
}

const neutral = {
  ...shared,
  plugins: [WITHOUT_FILES],
  platform: 'neutral',
  mainFields: ['browser', 'module', 'main'],
  conditions: ['workerd', 'worker', 'import'],
}

/** For packages that are CommonJS. */
const REQUIRE = {
  js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
}

const bundles = () => [
  {
    ...neutral,
    // Groups share common code.
    splitting: true,
    entryPoints: Object.fromEntries([
      ['app', 'handlers/app.ts'],
      ['handlers/docs', 'handlers/pages/docs.ts'],
      ...groups().map((file) => [file.replace(/\.ts$/, ''), file]),
    ]),
  },
  // One file each, for browsers and worker runtimes.
  { ...neutral, entryPoints: { client: 'handlers/client/client.ts' } },
  { ...neutral, entryPoints: { worker: 'handlers/worker/worker.ts' } },
  {
    ...shared,
    platform: 'node',
    splitting: true,
    target: 'node24',
    // Bundling halves the start time, but native add-ons cannot be bundled.
    external: ['libsql', '@node-rs/argon2', 'koffi', 'node-datachannel'],
    banner: REQUIRE,
    entryPoints: {
      node: 'handlers/node/main.ts',
      service: 'handlers/node/service.ts',
      engine: 'engine/main.ts',
      'recordings-index': 'engine/recordings/index-worker.ts',
      // The command, and the bundles that it loads on demand.
      cli: 'handlers/cli/cli.ts',
      doctor: 'engine/deploy/doctor/main.ts',
      openapi: 'handlers/cli/print-openapi.ts',
      install: 'engine/deploy/install/main.ts',
      // With chunks of its own, so that a command does not load code of the service.
      verbs: 'handlers/cli/verbs.ts',
    },
  },
]

/** jmuxer imports the stream module of Node.js, which a page does not use. */
const withoutNode = {
  name: 'without-node',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^stream$/ }, () => ({ path: 'stream', namespace: 'empty' }))
    onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: 'module.exports = {}' }))
  },
}

/** The dashboard. Names of scripts and styles contain a hash of the content, so that browsers may cache them forever. */
const dashboard = {
  ...shared,
  platform: 'browser',
  splitting: true,
  minify: true,
  target: ['chrome123', 'firefox121', 'safari17.5'],
  outdir: DASHBOARD,
  outbase: 'handlers/dashboard/page',
  entryPoints: ['handlers/dashboard/page/main.ts', 'handlers/dashboard/page/style.css'],
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  loader: { '.png': 'file' },
  legalComments: 'external',
  sourcemap: false,
  // The main file of jmuxer cannot be bundled.
  alias: { jmuxer: 'jmuxer/src/jmuxer.js' },
  plugins: [withoutNode],
}

/** The first script of the page, which is inline. */
const dashboardPrefetch = {
  ...dashboard,
  format: 'iife',
  splitting: false,
  write: false,
  entryPoints: ['handlers/dashboard/page/prefetch.ts'],
}

const COMPRESSED = new Set(['.js', '.css', '.svg'])

/** Writes the page with its inline script and the names of this build, and compressed copies of all files. Answers the files. */
const finishDashboard = ({ outputs }, prefetch) => {
  const built = (entry) => {
    const [file] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === `handlers/dashboard/page/${entry}`) ?? []
    return file.slice(DASHBOARD.length + 1)
  }
  const source = readFileSync(join(root, 'handlers/dashboard/page/index.html'), 'utf8')
  // Preloads the imports of the first script, and what it loads next.
  const importsOf = (name, kind) =>
    outputs[`${DASHBOARD}/${name}`].imports.filter((entry) => entry.kind === kind).map(({ path }) => path.slice(DASHBOARD.length + 1))
  const first = built('main.ts')
  const drawn = built('draw.tsx')
  const modules = new Set([...importsOf(first, 'import-statement'), drawn, ...importsOf(drawn, 'import-statement')])
  const preloads = [...modules].map((name) => `<link rel="modulepreload" href="${name}">`).join('\n')
  const names = { PREFETCH: `<script>${prefetch.trim()}</script>`, SCRIPT: first, STYLE: built('style.css'), PRELOADS: preloads }
  const page = Object.entries(names).reduce((text, [name, value]) => text.replace(`%${name}%`, () => value), source)
  const icon = readFileSync(join(root, 'handlers/dashboard/page/icon.svg'))
  writeFileSync(join(root, DASHBOARD, 'index.html'), page)
  writeFileSync(join(root, DASHBOARD, 'icon.svg'), icon)
  const files = [...Object.keys(outputs), `${DASHBOARD}/icon.svg`].filter((file) => COMPRESSED.has(extname(file)))
  for (const file of files) {
    const bytes = readFileSync(join(root, file))
    writeFileSync(join(root, `${file}.br`), brotliCompressSync(bytes))
    writeFileSync(join(root, `${file}.gz`), gzipSync(bytes, { level: 9 }))
  }
  return [`${DASHBOARD}/index.html`, `${DASHBOARD}/icon.svg`, ...files.flatMap((file) => [`${file}.br`, `${file}.gz`])]
}

/** Makes dist/cli.js executable, also in a checkout. */
const makeCommand = () => {
  const file = join(root, 'dist', 'cli.js')
  writeFileSync(file, `#!/usr/bin/env node\n${readFileSync(file, 'utf8')}`)
  chmodSync(file, 0o755)
}

/** Removes files of earlier builds, after the new files exist, so that a start in between finds one or the other. */
const removeStale = (outputs) => {
  const kept = new Set(outputs)
  const present = readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const entry of present) {
    const file = relative(root, join(entry.parentPath, entry.name))
    if (!kept.has(file) && (/\.js(\.map)?$/.test(file) || file.startsWith(`${DASHBOARD}/`))) rmSync(join(root, file))
  }
}

/** Writes the type declarations of the package's exports into dist/types. */
const emitDeclarations = () => {
  const project = join(root, 'dist', 'tsconfig.declarations.json')
  const exported = [
    'handlers/app.ts',
    'handlers/client/client.ts',
    'handlers/pages/docs.ts',
    'handlers/worker/worker.ts',
    'handlers/node/service.ts',
    ...groups(),
  ]
  mkdirSync(dirname(project), { recursive: true })
  writeFileSync(
    project,
    JSON.stringify({
      extends: '../tsconfig.json',
      compilerOptions: { noEmit: false, emitDeclarationOnly: true, declaration: true, rootDir: '..', outDir: 'types' },
      files: [...exported, 'db/migrations/sql.d.ts'].map((file) => `../${file}`),
      include: [],
    }),
  )
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'inherit' })
}

const main = async () => {
  if (process.argv.includes('--declarations')) return emitDeclarations()
  const violations = checkLayers()
  for (const line of violations) process.stderr.write(`layer check: ${line}\n`)
  if (violations.length > 0) process.exit(1)
  if (process.argv.includes('--check')) return
  const results = await Promise.all([...bundles(), dashboard].map((options) => build(options)))
  const { outputFiles } = await build(dashboardPrefetch)
  makeCommand()
  const page = finishDashboard(results.at(-1).metafile, outputFiles[0].text)
  removeStale([...results.flatMap(({ metafile }) => Object.keys(metafile.outputs)), ...page])
  if (process.argv.includes('--start')) {
    // The service reads its own arguments.
    process.argv = process.argv.filter((argument) => argument !== '--start')
    await import(join(root, 'dist', 'node.js'))
  }
}

if (process.argv[1] !== undefined && relative(process.argv[1], fileURLToPath(import.meta.url)) === '') await main()
