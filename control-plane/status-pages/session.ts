/**
 * Sessions of visitors of private pages: a signed cookie without a database row. It names the page
 * and the version of its password, so that a new password ends all sessions.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export const sessionMs = 30 * 86_400_000;
export const sessionCookie = 'status_page_session';

interface Opened {
  pageId: string;
  passwordVersion: number;
}

function sign(key: Buffer, { pageId, passwordVersion }: Opened, until: number): Buffer {
  return createHmac('sha256', key).update(`${pageId} ${passwordVersion} ${until}`).digest();
}

/** A session token that is valid for thirty days. */
export function makeSession(key: Buffer, opened: Opened, now: number): string {
  const until = now + sessionMs;
  return `${until}.${sign(key, opened, until).toString('base64url')}`;
}

export function isSession(key: Buffer, opened: Opened, token: string, now: number): boolean {
  const match = /^(\d{1,15})\.([\w-]{43})$/.exec(token);
  if (match === null) return false;
  const until = Number(match[1]);
  const given = Buffer.from(match[2] ?? '', 'base64url');
  const expected = sign(key, opened, until);
  return until > now && given.length === expected.length && timingSafeEqual(given, expected);
}

/** The values of this cookie: several paths may set it. */
export function sessionsIn(header: string | undefined): string[] {
  return (header ?? '').split(';').flatMap((pair) => {
    const [name = '', value = ''] = pair.trim().split('=', 2);
    return name === sessionCookie ? [value] : [];
  });
}
