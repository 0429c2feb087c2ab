/** Headers that every answer has; a route that needs another value sets its own. */
import type { RequestHandler } from 'express';

/** Nothing here uses them, so nothing that gets in here may. */
const permissions = [
  'camera',
  'display-capture',
  'geolocation',
  'microphone',
  'midi',
  'payment',
  'serial',
  'usb',
]
  .map((feature) => `${feature}=()`)
  .join(', ');

const yearSeconds = 31_536_000;

/** The step that sets them. Browsers stay with HTTPS where the public address has it. */
export function secureHeaders(publicUrl: string): RequestHandler {
  const headers = Object.entries({
    ...(publicUrl.startsWith('https:') && {
      'Strict-Transport-Security': `max-age=${yearSeconds}`,
    }),
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': permissions,
  });
  return (_request, response, next) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
}
