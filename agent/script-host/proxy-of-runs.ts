/**
 * The way out of programs of runs, for what asks its environment; `own` are the variables of the check.
 * Clients differ in which case of a name they ask for first: what the check says in one stands in both.
 * None where runs need none.
 */
export function proxyOfRuns(
  server: string | null,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  if (server === null) return {};
  const variables = {
    ...{ HTTP_PROXY: server, HTTPS_PROXY: server },
    NO_PROXY: 'localhost,127.0.0.1,::1',
  };
  return Object.fromEntries(
    Object.entries(variables).flatMap(([upper, value]) => {
      const lower = upper.toLowerCase();
      return [
        [upper, own[upper] ?? own[lower] ?? value],
        [lower, own[lower] ?? own[upper] ?? value],
      ];
    }),
  );
}
