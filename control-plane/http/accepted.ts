/** What a client accepts, and what it has cached. */
import type { IncomingHttpHeaders } from 'node:http';

/** True when the client accepts gzip: by name or `*`, with a quality other than 0. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  const qualities = new Map(
    String(header ?? '')
      .split(',')
      .map((part) => {
        const [coding = '', ...parameters] = part.split(';').map((text) => text.trim());
        const quality = parameters.find((text) => /^q=/i.test(text))?.slice(2) ?? '1';
        return [coding.toLowerCase(), Number(quality)] as const;
      }),
  );
  return (qualities.get('gzip') ?? qualities.get('*') ?? 0) > 0;
}

const weak = (tag: string): string => tag.replace(/^W\//, '');

/**
 * True when a header such as `If-Match` names this version, or any by `*`. Proxies that compress make
 * tags weak, so `W/` makes no difference.
 */
export function isNamed(header: string, etag: string): boolean {
  return header.trim() === '*' || header.split(',').some((tag) => weak(tag.trim()) === weak(etag));
}

/** True when the client has this version cached. */
export function isUnchanged(headers: IncomingHttpHeaders, etag: string): boolean {
  const known = headers['if-none-match'];
  return known !== undefined && isNamed(known, etag);
}
