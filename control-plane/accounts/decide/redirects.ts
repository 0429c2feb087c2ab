/** Redirect URIs of OAuth clients. Source: RFC 8252, sections 7 and 8. */

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

// compatibility: clients that register a scheme without the dot of a reversed domain name.
const schemesOfClients: ReadonlySet<string> = new Set(['cursor:', 'vscode:', 'vscode-insiders:']);

const isLoopback = ({ protocol, hostname }: URL) => protocol === 'http:' && loopback.has(hostname);

/** Null for an address that only its client receives. */
export function redirectProblem(address: string): string | null {
  const url = URL.parse(address);
  if (url === null) return 'must be an absolute address';
  if (address.includes('#')) return 'must have no fragment';
  if (url.username !== '' || url.password !== '') return 'must have no user and no password';
  if (url.protocol === 'https:' || isLoopback(url) || url.protocol.includes('.')) return null;
  if (schemesOfClients.has(url.protocol)) return null;
  return 'must begin with https://, http://127.0.0.1, http://localhost, or a scheme with a dot';
}

/** A client that listens on its own machine gets another port each time. */
export function isRegistered(address: string, registered: readonly string[]): boolean {
  const withoutPort = (text: string): string => {
    const url = URL.parse(text);
    if (url === null || !isLoopback(url)) return text;
    url.port = '';
    return url.href;
  };
  return registered.some((one) => withoutPort(one) === withoutPort(address));
}

/** The address with further parameters; the query that was registered stays as it is. */
export function redirectTo(address: string, parameters: Readonly<Record<string, string>>): string {
  return `${address}${address.includes('?') ? '&' : '?'}${new URLSearchParams(parameters).toString()}`;
}
