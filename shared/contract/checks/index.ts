/** The type table: one line per check type this build knows. Must stay free of logic. */
import { agenticCheck } from './agentic.ts';
import { apiCheck } from './api.ts';
import { browserCheck } from './browser.ts';
import type { CheckTypeDefinition } from './check-type.ts';
import { dnsMonitor } from './dns.ts';
import { heartbeatMonitor } from './heartbeat.ts';
import { icmpMonitor } from './icmp.ts';
import { multiStepCheck } from './multi-step.ts';
import { playwrightCheck } from './playwright.ts';
import { tcpMonitor } from './tcp.ts';
import { urlMonitor } from './url.ts';

export const checkTypes = {
  URL: urlMonitor,
  TCP: tcpMonitor,
  DNS: dnsMonitor,
  ICMP: icmpMonitor,
  HEARTBEAT: heartbeatMonitor,
  API: apiCheck,
  BROWSER: browserCheck,
  MULTI_STEP: multiStepCheck,
  PLAYWRIGHT: playwrightCheck,
  AGENTIC: agenticCheck,
} as const satisfies Record<string, CheckTypeDefinition>;

export type KnownCheckType = keyof typeof checkTypes;
