/** What runners have where a test gives them nothing more: TCP and names, no evidence. */
import type { NetworkAccess } from '../../agent/net/network-access.ts';

const notGiven = 'not given by this test';

export const plainNetwork: NetworkAccess = {
  useOsResolver: false,
  icmp: null,
  icmpProblem: notGiven,
  capture: null,
  captureProblem: notGiven,
  traceroute: null,
  tracerouteProblem: notGiven,
  nextHops: {
    to: () => Promise.resolve(null),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  },
};
