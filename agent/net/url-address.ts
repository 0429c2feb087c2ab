/** Where a URL leads: its host as sockets take it, and its port. */

/** Without the brackets that an address of IPv6 has in a URL. */
export const bareHost = (host: string): string => host.replace(/^\[|\]$/g, '');

/** That of the protocol where the URL names none. */
export const portOf = ({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
