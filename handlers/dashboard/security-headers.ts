import { pageHeaders } from '../pages/page-headers.ts'

/**
 * Allows scripts, styles and requests of this origin, pictures that the page made (blob:), and map tiles of the configured server.
 * The only inline script is the first one, by its hash.
 */
export const securityHeaders = async (page: string, mapTiles: string | undefined) =>
  pageHeaders(
    [
      "style-src 'self'",
      `img-src 'self' blob:${mapTiles === undefined ? '' : ` ${tileOrigin(mapTiles)}`}`,
      'media-src blob:',
      "connect-src 'self'",
    ],
    await hashesOf(page),
  )

const hashesOf = (page: string): Promise<string[]> =>
  Promise.all(
    page
      .split('<script>')
      .slice(1)
      .map(async (text) => {
        const script = new TextEncoder().encode(text.split('</script>', 1)[0])
        const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', script))
        return `sha256-${btoa(String.fromCharCode(...hash))}`
      }),
  )

/** `{s}` stands for one of several servers, which a policy writes as `*`. */
const tileOrigin = (template: string): string => {
  const [, scheme = '', host = ''] = /^(https?:)\/\/([^/]+)/.exec(template) ?? []
  return `${scheme}//${host.replace('{s}', '*')}`
}
