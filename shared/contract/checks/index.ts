/** The type table: one line per check type this build knows. Must stay free of logic. */
import type { CheckTypeDefinition } from './check-type.ts';
import { dnsMonitor } from './dns.ts';
import { heartbeatMonitor } from './heartbeat.ts';
import { icmpMonitor } from './icmp.ts';
import { tcpMonitor } from './tcp.ts';
import { urlMonitor } from './url.ts';

export const checkTypes = {
  URL: urlMonitor,
  TCP: tcpMonitor,
  DNS: dnsMonitor,
  ICMP: icmpMonitor,
  HEARTBEAT: heartbeatMonitor,
} as const satisfies Record<string, CheckTypeDefinition>;

export type KnownCheckType = keyof typeof checkTypes;
