import { createOpenApiDocument } from '../../lib/openapi/document.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { type AppDeps, apiRoutes } from '../app.ts'

// A reader such as head closes the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

// Only the table of routes is used; no route is called.
const operations = apiRoutes({} as AppDeps)
const document = createOpenApiDocument(operations, {
  version: packageJson.version,
  serverUrl: process.env.SVC_URL ?? 'http://127.0.0.1:8080',
})
process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
