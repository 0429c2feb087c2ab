/** What runners have where a test gives them nothing more: TCP and names, no evidence. */
import { noReceiveStamps } from '../../agent/native/receive-stamp.ts';
import { noTcpTimes } from '../../agent/native/tcp-times.ts';
import type { NetworkAccess } from '../../agent/net/network-access.ts';

const notGiven = 'not given by this test';

export const plainNetwork: NetworkAccess = {
  ...{ useOsResolver: false, icmp: null, icmpProblem: notGiven, capture: null },
  ...{ captureProblem: notGiven, traceroute: null, tracerouteProblem: notGiven },
  nextHops: { problem: notGiven, to: () => Promise.resolve(null) },
  tcpTimes: noTcpTimes,
  receiveStamps: noReceiveStamps,
};
