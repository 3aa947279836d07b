/**
 * Headers of a page that has its own scripts only, and that nobody may frame. `policy`: what else it may load, as directives of a
 * Content-Security-Policy.
 */
export const pageHeaders = (policy: readonly string[]) => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
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
