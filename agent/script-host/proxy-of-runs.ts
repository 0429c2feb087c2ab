/** The way out of programs of runs, for what asks its environment. None where they need none. */
export function proxyOfRuns(server: string | null): Record<string, string> {
  if (server === null) return {};
  const itself = 'localhost,127.0.0.1,::1';
  return {
    ...{ HTTP_PROXY: server, http_proxy: server, HTTPS_PROXY: server, https_proxy: server },
    ...{ NO_PROXY: itself, no_proxy: itself },
  };
}
