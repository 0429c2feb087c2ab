/** The cookies of one run. A cookie is for the host that set it alone. RFC 6265. */

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
  readonly isSecure: boolean;
}

const maxCookies = 100;

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

export class CookieJar {
  #cookies: Cookie[] = [];

  /** Takes what an answer from `url` sets at `now`, ms since the epoch. A character is a byte. */
  take(url: URL, lines: readonly string[], now: number): void {
    for (const line of lines) {
      // Browsers take none with a control byte, and no request could carry it.
      if (/[\0-\x08\x0a-\x1f\x7f]/.test(line)) continue;
      const [pair = '', ...rest] = line.split(';');
      const at = pair.indexOf('=');
      const name = pair.slice(0, Math.max(at, 0)).trim();
      if (name === '') continue;
      const attributes = new Map(
        rest.map((each) => {
          const [key = '', ...value] = each.split('=');
          return [key.trim().toLowerCase(), value.join('=').trim()] as const;
        }),
      );
      const given = attributes.get('path') ?? '';
      const path = given.startsWith('/')
        ? given
        : url.pathname.replace(/(?<=.)\/[^/]*$|[^/]*$/, '');
      const host = url.hostname;
      const isSame = (one: Cookie): boolean =>
        one.name === name && one.host === host && one.path === path;
      const isSecure = attributes.has('secure');
      const isPlain = url.protocol !== 'https:';
      // What came over TLS is neither set nor replaced without it.
      if (isPlain && (isSecure || this.#cookies.some((one) => isSame(one) && one.isSecure)))
        continue;
      this.#cookies = this.#cookies.filter((one) => !isSame(one));
      const maxAge = /^-?\d+$/.exec(attributes.get('max-age') ?? '')?.[0];
      const expires = Date.parse(attributes.get('expires') ?? '');
      const isOver = maxAge === undefined ? expires <= now : Number(maxAge) <= 0;
      if (isOver || this.#cookies.length >= maxCookies) continue;
      this.#cookies.push({ name, value: pair.slice(at + 1).trim(), host, path, isSecure });
    }
  }

  /** The header for a request, with the cookies of the check itself unless a server replaced them. */
  headerFor(url: URL, own: string | undefined): string | undefined {
    const found = this.#cookies
      .filter(({ host, path, isSecure }) => {
        const isReached = host === url.hostname && isBelow(url.pathname, path);
        return isReached && (!isSecure || url.protocol === 'https:');
      })
      .sort((one, other) => other.path.length - one.path.length);
    if (found.length === 0) return own;
    const names = new Set(found.map(({ name }) => name));
    const kept = (own ?? '')
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair !== '' && !names.has(pair.split('=')[0]?.trim() ?? ''));
    return [...kept, ...found.map(({ name, value }) => `${name}=${value}`)].join('; ');
  }
}
