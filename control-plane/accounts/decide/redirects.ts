/** Addresses to which a program may have its code sent. Source: RFC 8252, sections 7 and 8. */

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

const isLoopback = ({ protocol, hostname }: URL) => protocol === 'http:' && loopback.has(hostname);

/** Null for an address that only its program receives. */
export function redirectProblem(address: string): string | null {
  const url = URL.parse(address);
  if (url === null) return 'must be an absolute address';
  if (address.includes('#')) return 'must have no fragment';
  if (url.username !== '' || url.password !== '') return 'must have no user and no password';
  // A scheme that belongs to a program is the reverse of a domain name.
  if (url.protocol === 'https:' || isLoopback(url) || url.protocol.includes('.')) return null;
  return 'must begin with https://, http://127.0.0.1, http://localhost, or a scheme with a dot';
}

/** A program that listens on its own machine gets another port each time. */
export function isRegistered(address: string, registered: readonly string[]): boolean {
  const withoutPort = (text: string): string => {
    const url = URL.parse(text);
    if (url === null || !isLoopback(url)) return text;
    url.port = '';
    return url.href;
  };
  return registered.some((one) => withoutPort(one) === withoutPort(address));
}
