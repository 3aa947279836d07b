import type { OpenApiDocument } from '../../lib/openapi/document.ts'
import { errorResponse, methodNotAllowed, pathNotFound } from '../http/respond.ts'
import type { FetchHandler } from '../http/route.ts'
import { type Asset, assetResponse } from './assets.ts'
import { pageHeaders } from './page-headers.ts'

interface DocsDeps {
  /** The document of the API at an origin. */
  readonly document: (apiOrigin: string) => OpenApiDocument
  /** Origin of the API for a page at this URL. */
  readonly apiOrigin: (page: URL) => string
  /** The files of the explorer by path; no other file is served. */
  readonly assets: ReadonlyMap<string, Asset>
}

/** The interactive API explorer, for an origin of its own: one page, its files and the API document. */
export const createDocsHandlers = (deps: DocsDeps): FetchHandler => {
  return async (request) => {
    const url = new URL(request.url)
    const response = answer(deps, request, url)
    const head = request.method === 'HEAD'
    const headers = new Headers(response.headers)
    for (const [name, value] of Object.entries(securityHeaders(deps.apiOrigin(url)))) headers.set(name, value)
    return new Response(head ? null : response.body, { status: response.status, headers })
  }
}

const answer = ({ assets, document, apiOrigin }: DocsDeps, request: Request, url: URL): Response => {
  if (request.method !== 'GET' && request.method !== 'HEAD') return errorResponse(methodNotAllowed(['GET', 'HEAD']))
  if (url.pathname === '/') return text('text/html; charset=utf-8', PAGE)
  if (url.pathname === '/explorer.js') return text('text/javascript; charset=utf-8', SCRIPT)
  if (url.pathname === '/openapi.json') return text('application/json', JSON.stringify(document(apiOrigin(url))))
  const asset = assets.get(url.pathname)
  return asset === undefined ? errorResponse(pathNotFound()) : assetResponse(request, asset)
}

const text = (type: string, body: string): Response =>
  new Response(body, { headers: { 'content-type': type, 'cache-control': 'no-store' } })

/** Allows scripts of this origin and requests to it and to the API; Swagger UI needs inline styles. */
const securityHeaders = (apiOrigin: string) => ({
  ...pageHeaders(["style-src 'self' 'unsafe-inline'", "img-src 'self' data: blob:", `connect-src 'self' ${apiOrigin}`]),
  'cross-origin-opener-policy': 'same-origin',
})

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Video Pipeline Service: API explorer</title>
<link rel="stylesheet" href="swagger-ui.css">
<link rel="icon" type="image/png" href="favicon-32x32.png">
</head>
<body>
<div id="explorer"></div>
<script src="swagger-ui-bundle.js"></script>
<script src="explorer.js"></script>
</body>
</html>
`

// Stores no token, and calls no external validator.
const SCRIPT = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#explorer',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
})
`
