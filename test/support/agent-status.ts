import { agentStatus } from '../../agent/status/agent-status.ts';

const now = 1_000_000_000;
const pool = { running: 0, queued: 0, places: 4 };

/** What a healthy agent says of itself. */
export const healthyStatus = agentStatus.parse({
  ...{ pid: 7, hostname: 'h', version: '7.0.2', protocol: 2, agentId: 'a', healthPort: 8081 },
  ...{ startedAt: now - 3_600_000, now, state: 'ready', notReady: null, location: 'office' },
  ...{ controlPlane: 'https://cp.example', key: 'pl_…05a2', checks: 3 },
  link: {
    ...{ state: 'up', since: now - 600_000, lastAnswerAt: now },
    ...{ lastFailure: null, clockOffsetMs: 12, clockUncertaintyMs: 3 },
  },
  pools: { light: pool, heavy: pool },
  outbox: {
    ...{ depth: 0, bytes: 0, maxBytes: 1_000, oldestAt: null, droppedTotal: 0 },
    lastDeliveredAt: null,
  },
  artifacts: { files: 0, bytes: 0, maxBytes: 1_000, droppedTotal: 0 },
  ...{ runtimes: [], browsers: [], internalErrors: {} },
  encryption: { recipients: [], changes: [], refusedSince: null },
  load: { overloadedSince: null, reason: null, cpuWaitRatio: 0.01, lastSuspension: null },
  network: { icmp: 'datagram', capture: 'packets', traceroute: 'works' },
});
