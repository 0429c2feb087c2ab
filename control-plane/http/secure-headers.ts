/** Default security headers; a route may set other values. */
import type { RequestHandler } from 'express';

/** Browser features that no page uses are disabled, in case of injected code. */
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

/** The middleware that sets them, with HSTS when the public URL is https. */
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
