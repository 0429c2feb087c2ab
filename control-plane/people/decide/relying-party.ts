/** Where passkeys belong: to a host name, and to one origin of it. */

export interface RelyingParty {
  /** The host name: passkeys of one work on no other. */
  id: string;
  origin: string;
}

/** Gives the reason as a sentence where browsers offer no passkeys. */
export function relyingParty(publicUrl: string): RelyingParty | { problem: string } {
  const { hostname, origin, protocol } = new URL(publicUrl);
  // A parsed URL has IPv4 addresses with four numbers, and IPv6 in brackets.
  if (/^\[|^[\d.]+$/.test(hostname)) {
    return {
      problem: `passkeys need a host name: set PUBLIC_URL, which is ${origin} now, to one such as https://monitor.example.com`,
    };
  }
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (protocol !== 'https:' && !isLocal) {
    return {
      problem: `passkeys need https: set PUBLIC_URL, which is ${origin} now, to an address with it`,
    };
  }
  return { id: hostname, origin };
}
