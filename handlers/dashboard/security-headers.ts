import { pageHeaders } from '../pages/page-headers.ts'

/**
 * What the page may do: scripts, styles and requests of this origin only, pictures that it made itself (blob:), and map tiles of
 * the configured server. Nothing inline, no eval, no frame around it.
 */
export const securityHeaders = (mapTiles: string | undefined) =>
  pageHeaders([
    "style-src 'self'",
    `img-src 'self' blob:${mapTiles === undefined ? '' : ` ${tileOrigin(mapTiles)}`}`,
    'media-src blob:',
    "connect-src 'self'",
  ])

/** `{s}` stands for one of several servers, which a policy writes as `*`. */
const tileOrigin = (template: string): string => {
  const [, scheme = '', host = ''] = /^(https?:)\/\/([^/]+)/.exec(template) ?? []
  return `${scheme}//${host.replace('{s}', '*')}`
}
