/** A proxy in front of a control plane that keeps what clients ask for. */
import { createServer, request as ask } from 'node:http';
import { connect } from 'node:net';
import { listening } from './servers.ts';

export interface RecordedRequest {
  method: string;
  /** With `{id}` in place of ids. */
  path: string;
  query: string;
}

export interface RecordingProxy extends AsyncDisposable {
  url: string;
  /** Each request once, with the status of its answer. */
  seen: Map<string, { request: RecordedRequest; status: number }>;
}

/** Ids and instants differ from one installation to another. */
export function withoutIds(text: string): string {
  return text
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/gi, '{id}')
    .replaceAll(/(?<=[/=])\d+(?=$|[/&?])/g, '{number}');
}

/** Stands in front of the server of a URL. */
export async function openRecordingProxy(target: string): Promise<RecordingProxy> {
  const { hostname, port } = new URL(target);
  const seen: RecordingProxy['seen'] = new Map();
  const server = createServer((incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming;
    const forward = ask({ hostname, port, method, path: url, headers }, (answer) => {
      const [path = '', query = ''] = withoutIds(url).split('?');
      const status = answer.statusCode ?? 0;
      seen.set(`${method} ${path}?${query}`, { request: { method, path, query }, status });
      outgoing.writeHead(status, answer.headers);
      answer.pipe(outgoing);
    });
    forward.on('error', () => outgoing.destroy());
    incoming.pipe(forward);
  });
  // Results of tests come over WebSockets.
  server.on('upgrade', ({ method, url, rawHeaders }, socket, head) => {
    const upstream = connect(Number(port), hostname, () => {
      const lines = [`${String(method)} ${String(url)} HTTP/1.1`];
      for (let at = 0; at < rawHeaders.length; at += 2) {
        lines.push(`${String(rawHeaders[at])}: ${String(rawHeaders[at + 1])}`);
      }
      upstream.write(`${lines.join('\r\n')}\r\n\r\n`);
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  return { ...(await listening(server)), seen };
}
