/**
 * Headers of a page with scripts of its own origin only, which no other page may frame. `policy`: further directives of the
 * Content-Security-Policy. `scripts`: hashes of inline scripts (Content Security Policy Level 3 section 2.3.1).
 */
export const pageHeaders = (policy: readonly string[], scripts: readonly string[] = []) => ({
  'content-security-policy': [
    "default-src 'none'",
    ["script-src 'self'", ...scripts.map((hash) => `'${hash}'`)].join(' '),
    ...policy,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
})
