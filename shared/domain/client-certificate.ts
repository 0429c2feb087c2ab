/** Which client certificate goes to which host. Pure. Spec: Client certificate. */

interface ForHost {
  host: string;
}

/** How closely a pattern names a host: 3 for the host itself, 2 for `*.x`, 1 for `*`, 0 for not. */
function closeness(pattern: string, host: string): 0 | 1 | 2 | 3 {
  if (pattern === '*') return 1;
  if (pattern === host) return 3;
  if (!pattern.startsWith('*.')) return 0;
  const dot = host.indexOf('.');
  return dot > 0 && host.slice(dot) === pattern.slice(1) ? 2 : 0;
}

/**
 * The certificate for a host, or undefined. `certificates` come newest first. The host itself beats
 * `*.x`, where the star is one label, which beats `*`; at equal closeness a pattern with a port beats
 * one without, then the newer beats the older. A pattern with a port is for that port alone.
 */
export function chooseClientCertificate<T extends ForHost>(
  certificates: readonly T[],
  host: string,
  port: number,
): T | undefined {
  let best: T | undefined;
  let bestRank = 0;
  for (const certificate of certificates) {
    const [, name = '', wantedPort] =
      /^(.*?)(?::(\d+))?$/.exec(certificate.host.trim().toLowerCase()) ?? [];
    if (wantedPort !== undefined && Number(wantedPort) !== port) continue;
    const close = closeness(name, host.toLowerCase());
    const rank = close === 0 ? 0 : close * 2 + (wantedPort === undefined ? 0 : 1);
    if (rank > bestRank) {
      best = certificate;
      bestRank = rank;
    }
  }
  return best;
}
