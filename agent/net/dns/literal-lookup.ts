/**
 * The lookup of a datagram socket that is only ever given addresses. The system's would take a turn
 * of the event loop for each to find out that there is nothing to look up.
 */
export function literalLookup(
  address: string,
  _options: unknown,
  done: (error: null, address: string, family: number) => void,
): void {
  done(null, address, 0);
}
