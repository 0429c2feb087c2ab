/** Selects the client certificate for a host. Pure. Spec: Client certificate. */

interface ForHost {
  host: string;
}

interface Pattern {
  /** Lower case, without brackets; may hold stars. */
  readonly name: string;
  /** Null for every port. */
  readonly port: number | null;
}

/** Reads `host`, `host:port`, `[::1]` or `[::1]:port`. */
function parsePattern(text: string): Pattern {
  const [, address, name = '', port] =
    /^(?:\[(.*)\]|(.*?))(?::(\d+))?$/.exec(text.trim().toLowerCase()) ?? [];
  return { name: address ?? name, port: port === undefined ? null : Number(port) };
}

/** True when the pattern matches the name; a star matches any characters, including dots. */
function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return first === name;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}

/**
 * Specificity of a match: 4 and 5 for the host itself, 2 and 3 for a pattern with stars, the
 * greater with a port; 0 for no match.
 */
function closeness({ name, port }: Pattern, host: string, wantedPort: number): number {
  if (port !== null && port !== wantedPort) return 0;
  if (!matches(name, host)) return 0;
  return (name.includes('*') ? 2 : 4) + (port === null ? 0 : 1);
}

/**
 * The certificate for a host, or undefined. `certificates` are newest first. An exact host wins
 * over a pattern; then a pattern with a port wins over one without; then the newer one wins. A
 * pattern with a port matches only that port. `host` has no brackets.
 */
export function chooseClientCertificate<T extends ForHost>(
  certificates: readonly T[],
  host: string,
  port: number,
): T | undefined {
  const wanted = host.toLowerCase();
  let best: T | undefined;
  let bestCloseness = 0;
  for (const certificate of certificates) {
    const close = closeness(parsePattern(certificate.host), wanted, port);
    if (close > bestCloseness) {
      best = certificate;
      bestCloseness = close;
    }
  }
  return best;
}
