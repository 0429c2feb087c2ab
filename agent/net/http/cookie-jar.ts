/** The cookies of one run. A cookie is for the host that set it alone. RFC 6265. */

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
  readonly isSecure: boolean;
}

const maxCookies = 100;
/** Of a name and its value. */
const maxPair = 4_096;

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

interface Answered {
  url: URL;
  lines: readonly string[];
  now: number;
}

export class CookieJar {
  #cookies: Cookie[] = [];
  /** Most runs make one request, and need no cookie. */
  #unread: Answered[] = [];

  /** Takes what an answer from `url` sets at `now`, ms since the epoch. A character is a byte. */
  take(url: URL, lines: readonly string[], now: number): void {
    if (lines.length > 0) this.#unread.push({ url, lines, now });
  }

  #read({ url, lines, now }: Answered): void {
    for (const line of lines) {
      const [pair = '', ...rest] = line.split(';');
      const at = pair.indexOf('=');
      const name = pair.slice(0, Math.max(at, 0)).trim();
      const value = pair.slice(at + 1).trim();
      // Browsers take none of these, and no request could carry a control byte.
      if (/[\0-\x08\x0a-\x1f\x7f]/.test(line) || `${name}${value}`.includes('\t')) continue;
      if (name + value === '' || name.length + value.length > maxPair) continue;
      const attributes = new Map(
        rest.map((each) => {
          const [key = '', ...value] = each.split('=');
          return [key.trim().toLowerCase(), value.join('=').trim()] as const;
        }),
      );
      const given = attributes.get('path') ?? '';
      const path = given.startsWith('/')
        ? given
        : url.pathname.slice(0, Math.max(1, url.pathname.lastIndexOf('/')));
      const host = url.hostname;
      const isSame = (one: Cookie): boolean =>
        one.name === name && one.host === host && one.path === path;
      const isSecure = attributes.has('secure');
      const domain = (attributes.get('domain') ?? '').replace(/^\./, '').toLowerCase();
      const isPart = host.endsWith(`.${domain}`) && !/^[\d.]+$/.test(host);
      if (domain !== '' && host !== domain && !isPart) continue;
      if (/^__(secure|host)-/i.test(name) && !isSecure) continue;
      if (/^__host-/i.test(name) && (path !== '/' || domain !== '')) continue;
      if (/^none$/i.test(attributes.get('samesite') ?? '') && !isSecure) continue;
      const isPlain = url.protocol !== 'https:';
      // What came over TLS is neither set nor replaced without it.
      if (isPlain && (isSecure || this.#cookies.some((one) => isSame(one) && one.isSecure)))
        continue;
      this.#cookies = this.#cookies.filter((one) => !isSame(one));
      const maxAge = /^-?\d+$/.exec(attributes.get('max-age') ?? '')?.[0];
      const date = attributes.get('expires') ?? '';
      const expires = Date.parse(date.replace(/(?<=-[a-z]{3}-)(?=[0-6]\d\b)/i, '20'));
      const isOver = maxAge === undefined ? expires <= now : Number(maxAge) <= 0;
      if (isOver || this.#cookies.length >= maxCookies) continue;
      this.#cookies.push({ name, value, host, path, isSecure });
    }
  }

  /** The header for a request, with the cookies of the check itself unless a server replaced them. */
  headerFor(url: URL, own: string | undefined): string | undefined {
    for (const answered of this.#unread.splice(0)) this.#read(answered);
    if (this.#cookies.length === 0) return own;
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
    return [
      ...kept,
      ...found.map(({ name, value }) => (name === '' ? value : `${name}=${value}`)),
    ].join('; ');
  }
}
