/** A line of a pasted list of targets. */

export interface Line {
  type: string;
  name: string;
  request: Record<string, unknown>;
}

/**
 * `Shop https://shop.example/health`, `tcp://db.example:5432`, `db.example:5432` or `router.example`.
 */
export function readLine(line: string): Line | null {
  const words = line
    .trim()
    .split(/[\s,;]+/)
    .filter(Boolean);
  const at = words.findIndex((word) => /:\/\/|:\d+$|^[\w-]+(\.[\w-]+)+$/.test(word));
  const target = words[at];
  if (target === undefined) return null;
  const name =
    words.toSpliced(at, 1).join(' ') || target.replace(/^\w+:\/\//, '').replace(/\/$/, '');
  if (/^https?:\/\/./i.test(target)) return { type: 'URL', name, request: { url: target } };
  const place = /^(?:(tcp|icmp|ping|dns):\/\/)?([^/:]+)(?::(\d+))?\/?$/i.exec(target);
  if (place === null) return null;
  const [, scheme = '', hostname = '', port] = place;
  if (/^dns$/i.test(scheme)) return { type: 'DNS', name, request: { query: hostname } };
  if (port !== undefined) return { type: 'TCP', name, request: { hostname, port: Number(port) } };
  return /^tcp$/i.test(scheme) ? null : { type: 'ICMP', name, request: { hostname } };
}
