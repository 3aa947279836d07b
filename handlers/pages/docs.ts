import { ApiError } from '../../lib/errors.ts'
import type { OpenApiDocument } from '../../lib/openapi/document.ts'
import { isKnown } from '../http/conditional.ts'
import { errorResponse } from '../http/respond.ts'
import type { FetchHandler } from '../http/route.ts'

/** A file that the explorer is made of. */
export interface Asset {
  readonly type: string
  readonly etag: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

export interface DocsDeps {
  /** The document of the API at an origin. */
  readonly document: (apiOrigin: string) => OpenApiDocument
  /** Where the API is for a page at this address. */
  readonly apiOrigin: (page: URL) => string
  /** The explorer's own files by their path: what is not in here is not served. */
  readonly assets: ReadonlyMap<string, Asset>
}

/** The interactive API explorer, for an address of its own: one page, its files and the document. */
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
  if (request.method !== 'GET' && request.method !== 'HEAD') return errorResponse(methodNotAllowed())
  if (url.pathname === '/') return text('text/html; charset=utf-8', PAGE)
  if (url.pathname === '/explorer.js') return text('text/javascript; charset=utf-8', SCRIPT)
  if (url.pathname === '/openapi.json') return text('application/json', JSON.stringify(document(apiOrigin(url))))
  const asset = assets.get(url.pathname)
  return asset === undefined ? errorResponse(new ApiError('NOT_FOUND', 'There is nothing at this address.')) : file(request, asset)
}

const methodNotAllowed = () => new ApiError('METHOD_NOT_ALLOWED', 'This address knows GET, HEAD only.', { allow: ['GET', 'HEAD'] })

const text = (type: string, body: string): Response =>
  new Response(body, { headers: { 'content-type': type, 'cache-control': 'no-store' } })

const file = (request: Request, { type, etag, bytes }: Asset): Response => {
  const headers = { 'content-type': type, 'cache-control': 'no-cache', etag }
  return isKnown(request, etag) ? new Response(null, { status: 304, headers }) : new Response(bytes, { headers })
}

/** Scripts and requests of this address and of the API alone; the style attributes are Swagger UI's own. */
const securityHeaders = (apiOrigin: string) => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    `connect-src 'self' ${apiOrigin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
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

// A token that was typed in is forgotten with the page; the validator would be a request elsewhere.
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
