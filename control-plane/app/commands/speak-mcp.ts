/** The Model Context Protocol on standard input and output. Standard output has messages of it alone. */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { version } from '../../core/version.ts';
import { OperatorError, usageError } from '../../errors/operator-error.ts';
import { type CallApi, openMcpServer, readTags } from '../../mcp/index.ts';
import { AccountApi } from './account-api.ts';

export async function speakMcp({ url, tags }: { url?: string; tags?: string }): Promise<void> {
  const api = new AccountApi(url);
  const chosen = readTags(tags);
  if ('problem' in chosen) throw usageError(`--tags: ${chosen.problem}`);
  const callApi: CallApi = async ({ path, ...request }) => {
    try {
      const response = await api.send(path, request);
      const { status, headers } = response;
      const [etag, range] = [headers.get('etag'), headers.get('content-range')];
      return { status, etag, range, text: await api.textOf(response) };
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      return { status: 503, etag: null, range: null, text: error.message };
    }
  };
  if (process.stdin.isTTY) {
    console.error('This speaks the Model Context Protocol: a program starts it, not a person.');
  }
  const ended = Promise.withResolvers<void>();
  serveStdio(() => openMcpServer(callApi, version, chosen.tags));
  process.stdin.once('close', ended.resolve);
  await ended.promise;
}
